-- Says up to where a group has read, and that everything before its first open message is acked.
-- Uses the primary keys.
UPDATE {prefix}_queue_offsets SET last_offset = {cursor},
    done_offset = GREATEST(done_offset, COALESCE((
        SELECT state.`offset` - 1 FROM {prefix}_queue_delivery_state state
        WHERE state.topic = {topic} AND state.partition_key = {partition}
            AND state.consumer_group = {group} ORDER BY state.`offset` LIMIT 1), {cursor}))
WHERE topic = {topic} AND consumer_group = {group} AND partition_key = {partition};
