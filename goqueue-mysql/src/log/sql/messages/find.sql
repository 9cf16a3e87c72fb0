-- The messages of a topic with this id. A range of `ids`.
SELECT partition_key, `offset`, id, published_at, metadata, payload FROM {prefix}_queue_messages
WHERE topic = {topic} AND id = {id} ORDER BY partition_key;
