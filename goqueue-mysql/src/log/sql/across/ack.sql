-- Ends deliveries: the group is done with the messages. Uses the primary key.
DELETE state FROM {prefix}_queue_delivery_state state FORCE INDEX (PRIMARY)
WHERE topic = {topic} AND consumer_group = {group} AND ({deliveries});
