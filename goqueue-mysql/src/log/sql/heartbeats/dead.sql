-- The subscribers that have not been heard of for long, and locks them. A range of the primary key.
SELECT subscriber, instance FROM {prefix}_queue_subscriber_heartbeats
WHERE topic = {topic} AND consumer_group = {group} AND expires_at + {dead} <= {now}
ORDER BY subscriber, instance FOR UPDATE;
