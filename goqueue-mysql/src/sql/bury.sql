-- Copies jobs to the dead letters. One look-up in the primary key per row of `verdict`.
-- {verdicts}: SELECT 1 AS seq, 'exhausted' AS reason, x'…' AS error UNION ALL SELECT …
INSERT INTO {prefix}_dead_letters
    (queue, id, reason, attempts, died_at, ordering_key, unique_key, error, body)
SELECT job.queue, job.id, verdict.reason, job.attempt, {now}, job.ordering_key, job.unique_key,
    CONVERT(verdict.error USING utf8mb4), job.body
FROM ({verdicts}) verdict STRAIGHT_JOIN {prefix}_jobs job ON job.seq = verdict.seq
ON DUPLICATE KEY UPDATE reason = VALUES(reason), attempts = VALUES(attempts),
    died_at = VALUES(died_at), error = VALUES(error), body = VALUES(body);
