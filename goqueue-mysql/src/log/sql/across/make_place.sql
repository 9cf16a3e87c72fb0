-- Gives a group a row of its own for a partition. Uses the primary key.
INSERT IGNORE INTO {prefix}_queue_offsets
    (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES ({topic}, {group}, {partition}, {cursor}, {watermark});
