-- How many messages of each partition retention gives up, and the last of them. Ranges of the
-- primary key.
-- {ranges}: (partition_key = x'key' AND `offset` > n AND `offset` <= n) OR …
SELECT partition_key, COUNT(*) AS messages, MAX(`offset`) AS last_offset
FROM {prefix}_queue_messages WHERE topic = {topic} AND ({ranges}) GROUP BY partition_key;
