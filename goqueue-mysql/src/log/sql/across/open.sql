-- Opens the messages that the cursor passes: those that are visible as delivered, the others until
-- they are. A range of the primary key of the messages.
INSERT INTO {prefix}_queue_delivery_state
    (topic, partition_key, consumer_group, `offset`, kind, attempt, receipt, visible_after)
SELECT topic, partition_key, {group}, `offset`, visible_after <= {at}, visible_after <= {at},
    IF(visible_after <= {at}, {receipt}, 0), IF(visible_after <= {at}, {now} + {visibility}, visible_after)
FROM {prefix}_queue_messages message
WHERE topic = {topic} AND partition_key = {partition}
    AND `offset` > {cursor} AND `offset` <= {end}
ON DUPLICATE KEY UPDATE kind = VALUES(kind), receipt = VALUES(receipt),
    visible_after = VALUES(visible_after);
