-- Takes leases that are free, have run out or are one's own. Uses the primary key.
-- The server sets the columns in this order, each seeing what those before it were set to.
-- {rows}: ('topic', 'group', x'key', 'subscriber', instance, {now} + duration).
INSERT INTO {prefix}_queue_partition_leases
    (topic, consumer_group, partition_key, subscriber, instance, expires_at)
VALUES {rows}
ON DUPLICATE KEY UPDATE
    instance = IF(expires_at <= {now}, VALUES(instance), instance),
    subscriber = IF(instance = VALUES(instance), VALUES(subscriber), subscriber),
    expires_at = IF(instance = VALUES(instance), VALUES(expires_at), expires_at);
