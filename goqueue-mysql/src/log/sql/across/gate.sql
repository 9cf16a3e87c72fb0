-- Makes the row that is locked by whoever collects or makes a group known, and locks it.
INSERT INTO {prefix}_queue_offsets (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES ({topic}, '', '', 0, 0) ON DUPLICATE KEY UPDATE last_offset = 0;
