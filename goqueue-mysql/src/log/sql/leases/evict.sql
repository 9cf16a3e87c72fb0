-- Removes a lease, whoever has it. Uses the primary key.
DELETE FROM {prefix}_queue_partition_leases
WHERE topic = {topic} AND consumer_group = {group} AND partition_key = {partition};
