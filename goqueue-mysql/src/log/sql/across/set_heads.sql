-- Takes back offsets that duplicates have not used. Uses the primary key; the rows are locked.
-- {rows}: ('topic', '', x'key', last offset, 0), by key.
INSERT INTO {prefix}_queue_offsets (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES {rows} ON DUPLICATE KEY UPDATE last_offset = VALUES(last_offset);
