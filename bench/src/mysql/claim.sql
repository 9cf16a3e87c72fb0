SELECT seq, body FROM bare_jobs FORCE INDEX (ready)
WHERE queue = 'default' AND visible_after <= FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000)
ORDER BY queue, visible_after, seq
