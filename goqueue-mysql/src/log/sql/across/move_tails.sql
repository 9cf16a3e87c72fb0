-- Says up to where partitions are collected. One look-up in the primary key per row of `place`.
-- {places}: SELECT x'key' AS partition_key, 7 AS tail UNION ALL SELECT …
UPDATE ({places}) place STRAIGHT_JOIN {prefix}_queue_offsets own
    ON own.topic = {topic} AND own.consumer_group = '' AND own.partition_key = place.partition_key
SET own.done_offset = GREATEST(own.done_offset, place.tail);
