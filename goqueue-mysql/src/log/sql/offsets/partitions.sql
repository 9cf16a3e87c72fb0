-- Where the partitions stand, by key. A range of the primary key.
SELECT partition_key, last_offset, done_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key > '' ORDER BY partition_key;
