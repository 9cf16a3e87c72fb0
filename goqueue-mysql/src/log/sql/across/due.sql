-- Open messages that are visible, the first of each kind, with what was published. Ranges of `due`
-- in their order, then one look-up in the primary key of the messages for each.
SELECT due.`offset`, due.attempt, message.partition_key, message.id, message.published_at,
    message.metadata, message.payload
FROM (
    SELECT `offset`, attempt FROM (
        (SELECT `offset`, attempt FROM {prefix}_queue_delivery_state FORCE INDEX (due)
            WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group}
            AND kind = 0 AND visible_after <= {at} ORDER BY visible_after, `offset` LIMIT {limit_new})
        UNION ALL
        (SELECT `offset`, attempt FROM {prefix}_queue_delivery_state FORCE INDEX (due)
            WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group}
            AND kind = 1 AND visible_after <= {at} ORDER BY visible_after, `offset` LIMIT {limit})
        UNION ALL
        (SELECT `offset`, attempt FROM {prefix}_queue_delivery_state FORCE INDEX (due)
            WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group}
            AND kind = 2 AND visible_after <= {at} ORDER BY visible_after, `offset` LIMIT {limit})
    ) every_kind ORDER BY `offset` LIMIT {limit}
) due
LEFT JOIN {prefix}_queue_messages message
    ON message.topic = {topic} AND message.partition_key = {partition}
    AND message.`offset` = due.`offset`
ORDER BY due.`offset`;
