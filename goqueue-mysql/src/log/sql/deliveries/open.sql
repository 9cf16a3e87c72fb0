-- The first open messages of a group in a partition. A range of the primary key, in its order.
SELECT `offset`, kind, attempt, last_error, CAST(visible_after AS SIGNED) - {now} AS invisible
FROM {prefix}_queue_delivery_state
WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group}
ORDER BY `offset` LIMIT {limit};
