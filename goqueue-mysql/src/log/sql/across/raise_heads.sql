-- Gives offsets out, and locks the partitions until the commit. Uses the primary key.
-- {rows}: ('topic', '', x'key', how many, 0), by key.
INSERT INTO {prefix}_queue_offsets (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES {rows} ON DUPLICATE KEY UPDATE last_offset = last_offset + VALUES(last_offset);
