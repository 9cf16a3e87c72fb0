-- Says that a subscriber is there. Uses the primary key.
INSERT INTO {prefix}_queue_subscriber_heartbeats
    (topic, consumer_group, subscriber, instance, expires_at)
VALUES ({topic}, {group}, {subscriber}, {instance}, {now} + {valid})
ON DUPLICATE KEY UPDATE expires_at = VALUES(expires_at);
