-- The first job of each lane. A range of the primary key.
-- {lanes}: (queue = 'queue' AND ordering_key = x'key') OR …
SELECT queue, ordering_key, MIN(seq) AS seq FROM {prefix}_lane_jobs WHERE {lanes}
GROUP BY queue, ordering_key;
