-- Gives jobs back with their attempts: in front of their queue, or due later. One look-up in the
-- primary key per row of `verdict`.
-- {verdicts}: SELECT 1 AS seq, 1 AS token, 100 AS delay UNION ALL SELECT …
UPDATE ({verdicts}) verdict STRAIGHT_JOIN {prefix}_jobs job ON job.seq = verdict.seq
SET job.visible_after = IF(verdict.delay = 0, -{now}, {now} + verdict.delay), job.leased = 0,
    job.attempt = GREATEST(job.attempt, 1) - 1
WHERE job.leased = 1 AND job.token = verdict.token;
