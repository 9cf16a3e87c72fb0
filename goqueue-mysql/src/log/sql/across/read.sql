-- Some messages. Uses the primary key.
-- {places}: (partition_key = x'key' AND `offset` IN (…)) OR …
SELECT partition_key, `offset`, id, published_at, metadata, payload, {now} AS now_ms
FROM {prefix}_queue_messages
WHERE topic = {topic} AND ({places}) ORDER BY partition_key, `offset`;
