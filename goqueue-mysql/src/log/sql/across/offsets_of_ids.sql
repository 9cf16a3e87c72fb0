-- Where messages are, as of now in every transaction, whenever it began. Uses `ids`.
-- {ids}: (id = x'id' AND partition_key = x'key') OR …
SELECT partition_key, id, `offset` FROM {prefix}_queue_messages FORCE INDEX (ids)
WHERE topic = {topic} AND ({ids}) LOCK IN SHARE MODE;
