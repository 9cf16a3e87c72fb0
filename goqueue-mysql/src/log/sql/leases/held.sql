-- Which leases are one's own. Uses the primary key.
SELECT partition_key FROM {prefix}_queue_partition_leases
WHERE topic = {topic} AND consumer_group = {group} AND partition_key IN ({partitions})
    AND subscriber = {subscriber} AND instance = {instance} AND expires_at > {now}
ORDER BY partition_key;
