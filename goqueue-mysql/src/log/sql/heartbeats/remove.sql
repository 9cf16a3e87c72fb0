-- Forgets a subscriber. Uses the primary key.
DELETE FROM {prefix}_queue_subscriber_heartbeats
WHERE topic = {topic} AND consumer_group = {group}
    AND subscriber = {subscriber} AND instance = {instance};
