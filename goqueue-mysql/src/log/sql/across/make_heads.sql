-- Makes partitions that hold nothing yet. Uses the primary key.
-- {rows}: ('topic', '', x'key', 0, 0), by key.
INSERT IGNORE INTO {prefix}_queue_offsets
    (topic, consumer_group, partition_key, last_offset, done_offset) VALUES {rows};
