-- A partition's own row, and whether the group is known. Uses the primary key.
SELECT consumer_group, last_offset, done_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND ((consumer_group = '' AND partition_key = {partition})
    OR (consumer_group = {group} AND partition_key = ''));
