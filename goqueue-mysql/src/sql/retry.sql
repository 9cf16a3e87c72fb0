-- Makes failed jobs due again. One look-up in the primary key per row of `verdict`.
-- {verdicts}: SELECT 1 AS seq, 1 AS token, 100 AS delay, x'…' AS error UNION ALL SELECT …
UPDATE ({verdicts}) verdict STRAIGHT_JOIN {prefix}_jobs job ON job.seq = verdict.seq
SET job.visible_after = {now} + verdict.delay, job.leased = 0,
    job.last_error = CONVERT(verdict.error USING utf8mb4)
WHERE job.leased = 1 AND job.token = verdict.token;
