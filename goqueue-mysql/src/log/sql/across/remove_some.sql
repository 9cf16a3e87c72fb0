-- Removes some messages of a partition. Uses the primary key.
DELETE FROM {prefix}_queue_messages
WHERE topic = {topic} AND partition_key = {partition} AND `offset` IN ({offsets});
