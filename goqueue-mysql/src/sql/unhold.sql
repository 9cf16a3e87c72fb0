-- Shows jobs whose turn it is, from when they are due. Uses the primary key. It locks a job that
-- is not held too: somebody may be about to hold it.
UPDATE {prefix}_jobs
SET visible_after = IF(visible_after < {held_from}, visible_after, visible_after - {held})
WHERE seq IN ({seqs});
