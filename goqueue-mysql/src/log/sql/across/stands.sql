-- Where the groups stand in some partitions. Uses the primary key.
SELECT consumer_group, partition_key, done_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group IN ({groups}) AND partition_key IN ({partitions});
