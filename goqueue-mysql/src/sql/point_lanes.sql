-- Says which job may run. Uses the primary key; the lanes are locked.
-- {rows}: ('queue', x'key', seq).
INSERT INTO {prefix}_lanes (queue, ordering_key, seq) VALUES {rows}
ON DUPLICATE KEY UPDATE seq = VALUES(seq);
