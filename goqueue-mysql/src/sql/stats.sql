-- Counts the jobs of a queue by state, and its dead letters, without touching a row. One statement,
-- so that all of it is seen at one moment: a job that moves meanwhile is counted once.
SELECT
    COUNT(CASE WHEN visible_after <= {now} THEN 1 END) AS ready,
    COUNT(CASE WHEN visible_after > {now} AND leased = 0 THEN 1 END) AS scheduled,
    COUNT(CASE WHEN visible_after > {now} AND leased = 1 THEN 1 END) AS running,
    CAST({now} - MIN(CASE WHEN visible_after <= {now} THEN ABS(visible_after) END) AS SIGNED) AS waited,
    0 AS dead
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND visible_after < {held_from}
UNION ALL
SELECT
    COUNT(CASE WHEN visible_after - {held} <= {now} THEN 1 END),
    COUNT(CASE WHEN visible_after - {held} > {now} THEN 1 END),
    0,
    CAST({now} - MIN(CASE WHEN visible_after - {held} <= {now} THEN visible_after - {held} END) AS SIGNED),
    0
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND visible_after >= {held_from}
UNION ALL
SELECT 0, 0, 0, NULL, COUNT(*) FROM {prefix}_dead_letters WHERE queue = {queue};
