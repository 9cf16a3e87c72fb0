-- Whether there is anything to take: one entry of an index for each part of the answer, no lock.
SELECT {now} AS now_ms, COUNT(*) AS is_held FROM {prefix}_queue_partition_leases
WHERE topic = {topic} AND consumer_group = {group} AND partition_key = {partition}
    AND subscriber = {subscriber} AND instance = {instance} AND expires_at > {now};
SELECT consumer_group, partition_key, last_offset, done_offset FROM {prefix}_queue_offsets
WHERE topic = {topic} AND ((consumer_group = '' AND partition_key = {partition})
    OR (consumer_group = {group} AND partition_key IN ('', {partition})));
SELECT
    (SELECT `offset` FROM {prefix}_queue_delivery_state WHERE topic = {topic}
        AND partition_key = {partition} AND consumer_group = {group}
        ORDER BY `offset` LIMIT 1) AS first_open,
    (SELECT MIN(visible_after) FROM {prefix}_queue_delivery_state WHERE topic = {topic}
        AND partition_key = {partition} AND consumer_group = {group} AND kind = 0) AS first_new,
    (SELECT MIN(visible_after) FROM {prefix}_queue_delivery_state WHERE topic = {topic}
        AND partition_key = {partition} AND consumer_group = {group} AND kind = 1) AS first_again,
    (SELECT MIN(visible_after) FROM {prefix}_queue_delivery_state WHERE topic = {topic}
        AND partition_key = {partition} AND consumer_group = {group} AND kind = 2) AS first_held,
    (SELECT MAX(visible_after) FROM {prefix}_queue_delivery_state WHERE topic = {topic}
        AND partition_key = {partition} AND consumer_group = {group} AND kind = 2) AS last_held;
