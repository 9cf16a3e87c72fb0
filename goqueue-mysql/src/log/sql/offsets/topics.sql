-- Every topic. Reads the table.
SELECT topic,
    COUNT(CASE WHEN consumer_group = '' AND partition_key > '' THEN 1 END) AS partitions,
    CAST(COALESCE(SUM(CASE WHEN consumer_group = '' THEN last_offset - done_offset END), 0)
        AS UNSIGNED) AS span,
    COUNT(CASE WHEN consumer_group > '' AND partition_key = '' THEN 1 END) AS consumer_groups
FROM {prefix}_queue_offsets GROUP BY topic ORDER BY topic;
