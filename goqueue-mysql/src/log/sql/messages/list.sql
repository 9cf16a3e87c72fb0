-- A page of a topic's messages. A range of the primary key, in its order.
-- {which}: empty, or AND partition_key = x'key'; {after}: where the page starts.
SELECT partition_key, `offset`, id, published_at, metadata, payload FROM {prefix}_queue_messages
WHERE topic = {topic} {which} {after} ORDER BY topic, partition_key, `offset` LIMIT {limit};
