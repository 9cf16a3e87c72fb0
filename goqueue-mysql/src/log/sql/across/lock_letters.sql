-- Dead letters that are to go back. Uses the primary key.
SELECT `offset`, partition_key, id, published_at, metadata, payload FROM {prefix}_queue_messages
WHERE topic = {topic} AND partition_key = {partition} AND `offset` IN ({offsets})
ORDER BY `offset` FOR UPDATE;
