-- Hides jobs until it is their turn. Uses the primary key.
UPDATE {prefix}_jobs SET visible_after = visible_after + {held}
WHERE seq IN ({seqs}) AND visible_after < {held_from};
