-- The jobs of a queue that are visible, in the order they are served. One or two ranges of
-- `ready`, in its order: nothing is sorted, and only the rows returned are locked.
-- {from}: nothing, or AND ((visible_after = n AND seq > n) OR visible_after > n); {except}: nothing,
-- or AND seq NOT IN (…).
SELECT seq, token, visible_after, ordering_key,
    ordering_key IS NOT NULL OR unique_key IS NOT NULL AS keyed
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND visible_after <= {now} {from} {except}
ORDER BY queue, visible_after, seq
LIMIT {limit}
FOR UPDATE SKIP LOCKED;
