-- Whether a group is known on a topic. Uses the primary key.
SELECT 1 FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = {group} AND partition_key = '';
