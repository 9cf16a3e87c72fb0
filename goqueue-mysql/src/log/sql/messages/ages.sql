-- How old the first message behind each offset is. One look-up in the primary key per row of `place`.
-- {places}: SELECT 0 AS n, x'key' AS partition_key, 7 AS done UNION ALL SELECT …
SELECT place.n, {now} - (
    SELECT CAST(message.published_at AS SIGNED) FROM {prefix}_queue_messages message
    WHERE message.topic = {topic} AND message.partition_key = place.partition_key
        AND message.`offset` > place.done
    ORDER BY message.`offset` LIMIT 1
) AS age FROM ({places}) place;
