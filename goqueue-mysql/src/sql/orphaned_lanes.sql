-- Lanes whose job is gone: somebody deleted rows by hand. Reads all lanes, each with one look-up in
-- the primary key of the jobs.
SELECT lane.queue, lane.ordering_key FROM {prefix}_lanes lane
LEFT JOIN {prefix}_jobs job ON job.seq = lane.seq
WHERE lane.queue = {queue} AND job.seq IS NULL LIMIT {limit};
