-- Gives leases up. Uses the primary key.
DELETE FROM {prefix}_queue_partition_leases
WHERE topic = {topic} AND consumer_group = {group} AND partition_key IN ({partitions})
    AND subscriber = {subscriber} AND instance = {instance};
