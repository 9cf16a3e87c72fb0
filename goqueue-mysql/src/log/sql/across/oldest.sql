-- The partitions whose first message is older than it may get. One look-up in the primary key of the
-- messages per partition that holds any.
SELECT place.partition_key FROM {prefix}_queue_offsets place
WHERE place.topic = {topic} AND place.consumer_group = '' AND place.partition_key > ''
    AND place.last_offset > place.done_offset AND {now} > {retention} + (
        SELECT GREATEST(message.published_at, message.visible_after)
        FROM {prefix}_queue_messages message
        WHERE message.topic = {topic} AND message.partition_key = place.partition_key
            AND message.`offset` > place.done_offset
        ORDER BY message.`offset` LIMIT 1);
