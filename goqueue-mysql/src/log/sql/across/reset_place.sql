-- Puts a group somewhere else in a partition, and forgets what it has open. Uses the primary keys.
INSERT INTO {prefix}_queue_offsets (topic, consumer_group, partition_key, last_offset, done_offset)
VALUES ({topic}, {group}, {partition}, {to}, {to})
ON DUPLICATE KEY UPDATE last_offset = VALUES(last_offset), done_offset = VALUES(done_offset);
DELETE FROM {prefix}_queue_delivery_state
WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group};
