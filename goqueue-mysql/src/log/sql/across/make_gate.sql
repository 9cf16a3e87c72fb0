-- Makes the row of whoever collects. Uses the primary key.
INSERT IGNORE INTO {prefix}_queue_offsets
    (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES ({topic}, '', '', 0, 0);
