-- Forgets the subscribers that have not been heard of for long. A range of the primary key.
DELETE FROM {prefix}_queue_subscriber_heartbeats
WHERE topic = {topic} AND consumer_group = {group} AND expires_at + {dead} <= {now};
