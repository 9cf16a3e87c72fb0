-- Delivers open messages once more. Uses the primary key.
UPDATE {prefix}_queue_delivery_state FORCE INDEX (PRIMARY)
SET kind = 1, attempt = attempt + 1, receipt = {receipt}, visible_after = {now} + {visibility}
WHERE topic = {topic} AND partition_key = {partition} AND consumer_group = {group}
    AND `offset` IN ({offsets});
