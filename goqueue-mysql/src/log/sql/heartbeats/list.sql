-- The subscribers of a group. A range of the primary key, in its order.
SELECT subscriber, instance, expires_at > {now} AS is_alive
FROM {prefix}_queue_subscriber_heartbeats
WHERE topic = {topic} AND consumer_group = {group} ORDER BY subscriber, instance;
