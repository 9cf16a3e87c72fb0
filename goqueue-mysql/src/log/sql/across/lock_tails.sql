-- Locks partitions, apart from those to which an open transaction publishes. Uses the primary key.
SELECT partition_key FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key IN ({partitions})
ORDER BY partition_key FOR UPDATE SKIP LOCKED;
