-- Those of some partitions that there are. Uses the primary key.
SELECT partition_key FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key IN ({partitions});
