-- Forgets open messages that are gone. Uses the primary key.
DELETE FROM {prefix}_queue_delivery_state
WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group}
    AND `offset` IN ({offsets});
