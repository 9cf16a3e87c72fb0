-- Stores messages at the ends of their partitions. An id that is there already is an error.
-- {rows}: ('topic', x'key', offset, x'id', published at, visible after, x'metadata', x'payload').
INSERT INTO {prefix}_queue_messages
    (topic, partition_key, `offset`, id, published_at, visible_after, metadata, payload)
VALUES {rows};
