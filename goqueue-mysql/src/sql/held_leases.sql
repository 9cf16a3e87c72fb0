-- Which leases still hold. Uses the primary key.
SELECT seq FROM {prefix}_jobs WHERE {leases};
