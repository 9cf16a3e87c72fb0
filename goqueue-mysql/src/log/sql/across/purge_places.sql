-- Says that everything there is has been collected, and locks the partitions. A range of the
-- primary key.
UPDATE {prefix}_queue_offsets SET done_offset = last_offset
WHERE topic = {topic} AND consumer_group = '' AND partition_key > '';
