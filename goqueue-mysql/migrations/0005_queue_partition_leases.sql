-- Which subscriber of a group may read a partition, and until when, by the server's clock.
CREATE TABLE IF NOT EXISTS {prefix}_queue_partition_leases (
    topic          VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    consumer_group VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    partition_key  VARBINARY(256) NOT NULL,
    subscriber     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    instance       BIGINT UNSIGNED NOT NULL,
    expires_at     BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (topic, consumer_group, partition_key)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
