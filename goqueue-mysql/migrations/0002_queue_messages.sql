-- The messages of the log. Written once, never changed; removed when every group has acked them.
--
-- `offset` is the place in the partition, from 1, in the order of the commits; there may be gaps.
-- Times are milliseconds since the Unix epoch, by the server's clock; `visible_after` 0 is at once.
CREATE TABLE IF NOT EXISTS {prefix}_queue_messages (
    topic         VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    partition_key VARBINARY(256) NOT NULL,
    `offset`      BIGINT UNSIGNED NOT NULL,
    id            VARBINARY(255) NOT NULL,
    published_at  BIGINT UNSIGNED NOT NULL,
    visible_after BIGINT UNSIGNED NOT NULL DEFAULT 0,
    metadata      MEDIUMBLOB NULL,
    payload       MEDIUMBLOB NOT NULL,
    PRIMARY KEY (topic, partition_key, `offset`),
    UNIQUE KEY ids (topic, id, partition_key)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
