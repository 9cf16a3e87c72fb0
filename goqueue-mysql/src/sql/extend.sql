-- Moves the ends of leases. Uses the primary key.
-- {leases}: leased = 1 AND (token = n AND seq IN (…) OR …)
UPDATE {prefix}_jobs SET visible_after = {now} + {lease} WHERE {leases};
