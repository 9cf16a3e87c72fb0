-- Makes lanes that are not there, locked and with no job yet. Uses the primary key.
-- {rows}: ('queue', x'key', 0).
INSERT INTO {prefix}_lanes (queue, ordering_key, seq) VALUES {rows}
ON DUPLICATE KEY UPDATE seq = seq;
