-- What the groups know of a message. A range of the primary key: what is open in the partition.
SELECT consumer_group, `offset`, kind, attempt, last_error,
    CAST(visible_after AS SIGNED) - {now} AS invisible
FROM {prefix}_queue_delivery_state
WHERE topic = {topic} AND partition_key = {partition} AND `offset` = {offset}
ORDER BY consumer_group;
