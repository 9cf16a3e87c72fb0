-- The offsets just given out. Uses the primary key; the rows are locked.
SELECT partition_key, last_offset, {now} AS now_ms FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key IN ({partitions})
ORDER BY partition_key;
