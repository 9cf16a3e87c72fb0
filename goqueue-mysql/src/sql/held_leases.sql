-- Which leases still hold. Uses the primary key.
SELECT seq, token FROM {prefix}_jobs WHERE {leases};
