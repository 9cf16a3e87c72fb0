-- Counts the jobs of a queue by state. Its part of `ready`, without touching a row.
SELECT
    COUNT(CASE WHEN visible_after <= {now} THEN 1 END) AS ready,
    COUNT(CASE WHEN visible_after > {now} AND leased = 0 THEN 1 END) AS scheduled,
    COUNT(CASE WHEN visible_after > {now} AND leased = 1 THEN 1 END) AS running,
    CAST({now} - MIN(CASE WHEN visible_after <= {now} THEN ABS(visible_after) END) AS SIGNED) AS waited
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND visible_after < {held_from};
SELECT
    COUNT(CASE WHEN visible_after - {held} <= {now} THEN 1 END) AS ready,
    COUNT(CASE WHEN visible_after - {held} > {now} THEN 1 END) AS scheduled,
    0 AS running,
    CAST({now} - MIN(CASE WHEN visible_after - {held} <= {now} THEN visible_after - {held} END) AS SIGNED)
        AS waited
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND visible_after >= {held_from};
SELECT COUNT(*) AS dead FROM {prefix}_dead_letters WHERE queue = {queue};
