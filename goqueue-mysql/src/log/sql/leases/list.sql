-- Leases, those that have run out included. A range of the primary key unless all are asked for.
-- {which}: 1 = 1, or what topic or group have to be.
SELECT topic, consumer_group, partition_key, subscriber, instance,
    CAST(expires_at AS SIGNED) - {now} AS expires_in
FROM {prefix}_queue_partition_leases WHERE {which}
ORDER BY topic, consumer_group, partition_key;
