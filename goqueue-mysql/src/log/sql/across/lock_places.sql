-- Locks out everyone else who moves the group in these partitions. Uses the primary key.
SELECT partition_key FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = {group} AND partition_key IN ({partitions})
ORDER BY partition_key FOR UPDATE;
