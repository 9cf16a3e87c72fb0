-- Every queue that holds or has held a job. Reads one entry per queue of each index.
SELECT queue FROM {prefix}_queues
UNION SELECT DISTINCT queue FROM {prefix}_jobs
UNION SELECT DISTINCT queue FROM {prefix}_dead_letters
ORDER BY queue;
