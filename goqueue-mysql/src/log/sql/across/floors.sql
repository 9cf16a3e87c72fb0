-- Up to where every group has acked, by partition; the row of '' counts the groups. Reads what the
-- groups have on the topic.
SELECT partition_key, COUNT(*) AS consumer_groups, MIN(done_offset) AS floor
FROM {prefix}_queue_offsets WHERE topic = {topic} AND consumer_group > '' GROUP BY partition_key;
