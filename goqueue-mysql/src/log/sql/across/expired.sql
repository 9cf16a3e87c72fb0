-- Up to where messages are older than they may get. From each tail, reads what has to go.
-- {places}: SELECT 0 AS n, x'key' AS partition_key, 7 AS tail, 107 AS end_offset UNION ALL SELECT …
SELECT place.n, COALESCE((
    SELECT message.`offset` - 1 FROM {prefix}_queue_messages message
    WHERE message.topic = {topic} AND message.partition_key = place.partition_key
        AND message.`offset` > place.tail AND message.`offset` <= place.end_offset
        AND GREATEST(message.published_at, message.visible_after) + {retention} >= {now}
    ORDER BY message.`offset` LIMIT 1), place.end_offset) AS cut
FROM ({places}) place;
