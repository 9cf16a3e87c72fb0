-- Where a group stands in a partition, locking out everyone else who moves it. Uses the primary key.
SELECT last_offset, done_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = {group} AND partition_key = {partition} FOR UPDATE;
