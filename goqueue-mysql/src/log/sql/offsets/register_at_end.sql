-- Lets a new group begin behind the heads there are. A range of the primary key.
INSERT IGNORE INTO {prefix}_queue_offsets
    (topic, consumer_group, partition_key, last_offset, done_offset)
SELECT topic, {group}, partition_key, last_offset, last_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key > '';
