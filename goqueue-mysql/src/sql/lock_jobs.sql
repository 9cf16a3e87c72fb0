-- What is known of the jobs whose leases are to end. Uses the primary key.
SELECT seq, token, leased, id, queue, ordering_key, unique_key FROM {prefix}_jobs
WHERE seq IN ({seqs}) ORDER BY seq FOR UPDATE;
