-- Which deliveries are the last ones of their messages, and locks them. Uses the primary key.
-- {deliveries}: (partition_key = x'key' AND receipt = n AND `offset` BETWEEN n AND n) OR …
SELECT partition_key, `offset`, receipt FROM {prefix}_queue_delivery_state FORCE INDEX (PRIMARY)
WHERE topic = {topic} AND consumer_group = {group} AND ({deliveries})
ORDER BY partition_key, `offset` FOR UPDATE;
