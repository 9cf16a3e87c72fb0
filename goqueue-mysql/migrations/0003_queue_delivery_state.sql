-- Messages that a group has read and not acked. Acking removes the row.
--
-- `kind` sorts what is open: 0 was not delivered yet, 1 was, 2 was postponed and holds its partition
-- until it is visible. `receipt` tells the last delivery from all others; 0 is none.
CREATE TABLE IF NOT EXISTS {prefix}_queue_delivery_state (
    topic          VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    partition_key  VARBINARY(256) NOT NULL,
    consumer_group VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    `offset`       BIGINT UNSIGNED NOT NULL,
    kind           TINYINT UNSIGNED NOT NULL,
    attempt        INT UNSIGNED NOT NULL,
    receipt        BIGINT UNSIGNED NOT NULL,
    visible_after  BIGINT UNSIGNED NOT NULL,
    last_error     TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    PRIMARY KEY (topic, partition_key, consumer_group, `offset`),
    KEY due (topic, partition_key, consumer_group, kind, visible_after)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
