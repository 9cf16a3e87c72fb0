-- Renews leases that are still one's own. Uses the primary key.
UPDATE {prefix}_queue_partition_leases SET expires_at = {now} + {duration}
WHERE topic = {topic} AND consumer_group = {group} AND partition_key IN ({partitions})
    AND subscriber = {subscriber} AND instance = {instance};
