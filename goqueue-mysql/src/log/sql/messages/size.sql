-- How much a topic holds. Reads all of it.
SELECT COUNT(*) AS messages, CAST(COALESCE(SUM(LENGTH(payload)), 0) AS UNSIGNED) AS bytes,
    CAST(COALESCE(SUM(visible_after > {now}), 0) AS UNSIGNED) AS delayed_messages,
    {now} - CAST(MIN(published_at) AS SIGNED) AS oldest
FROM {prefix}_queue_messages WHERE topic = {topic};
