-- Some jobs of a queue that are not running. A range of `ready`, in its order.
SELECT seq, id, queue, visible_after, ordering_key, unique_key
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND (leased = 0 OR visible_after <= {now}) {after}
ORDER BY queue, visible_after, seq
LIMIT {limit}
FOR UPDATE SKIP LOCKED;
