-- Forgets removed messages for the groups that have them open. Ranges of the primary key: what is
-- open in the partition.
DELETE FROM {prefix}_queue_delivery_state
WHERE topic = {topic} AND partition_key = {partition} AND `offset` IN ({offsets});
