-- Everything before the first open message of a partition is acked. Uses the primary keys. MySQL sorts
-- unless the order names the whole key.
UPDATE {prefix}_queue_offsets place SET place.done_offset = GREATEST(place.done_offset, COALESCE((
    SELECT state.`offset` - 1 FROM {prefix}_queue_delivery_state state
    WHERE state.topic = {topic} AND state.partition_key = place.partition_key
        AND state.consumer_group = {group}
    ORDER BY state.topic, state.partition_key, state.consumer_group, state.`offset` LIMIT 1),
    place.last_offset))
WHERE place.topic = {topic} AND place.consumer_group = {group}
    AND place.partition_key IN ({partitions});
