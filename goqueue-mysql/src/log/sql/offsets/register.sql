-- Makes a group known on a topic: the row for all partitions that have none of their own.
INSERT IGNORE INTO {prefix}_queue_offsets
    (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES ({topic}, {group}, '', 0, 0);
