-- Forgets jobs. Uses the primary key.
-- {leases}: leased = 1 AND (token = n AND seq IN (…) OR …)
DELETE FROM {prefix}_jobs WHERE {leases};
