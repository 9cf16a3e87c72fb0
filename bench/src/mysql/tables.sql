-- The tables with jobs, ours and the peers'.
SELECT CAST(table_name AS CHAR) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name IN ('bare_jobs', 'goqueue_jobs', 'jobs')
