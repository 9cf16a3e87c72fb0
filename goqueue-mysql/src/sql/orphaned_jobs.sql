-- Held jobs in whose lane no job may run: somebody wrote rows by hand. A range of `ready`, in its
-- order, each with one look-up in the primary key of the lanes.
SELECT job.seq FROM (
    SELECT seq, queue, ordering_key FROM {prefix}_jobs FORCE INDEX (ready)
    WHERE queue = {queue} AND visible_after >= {held_from}
    ORDER BY queue, visible_after, seq LIMIT {limit}
) job
LEFT JOIN {prefix}_lanes lane
    ON lane.queue = job.queue AND lane.ordering_key = job.ordering_key
WHERE lane.seq IS NULL;
