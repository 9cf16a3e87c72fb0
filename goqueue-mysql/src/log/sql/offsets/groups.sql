-- The groups of a topic. Reads one entry of the primary key per group.
SELECT DISTINCT consumer_group FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group > '' ORDER BY consumer_group;
