-- Where a group stands, by partition; its row for all others comes first. A range of the primary key.
SELECT partition_key, last_offset, done_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = {group} ORDER BY partition_key;
