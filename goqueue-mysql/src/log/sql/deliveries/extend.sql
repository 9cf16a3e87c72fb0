-- Moves the ends of deliveries' invisibility. Uses the primary key.
-- {deliveries}: (partition_key = x'key' AND receipt = n AND `offset` BETWEEN n AND n) OR …
UPDATE {prefix}_queue_delivery_state FORCE INDEX (PRIMARY) SET visible_after = {now} + {by}
WHERE topic = {topic} AND consumer_group = {group} AND ({deliveries});
