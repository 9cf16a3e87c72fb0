-- The subscribers that are there, and until when that is believed, by the server's clock.
CREATE TABLE IF NOT EXISTS {prefix}_queue_subscriber_heartbeats (
    topic          VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    consumer_group VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    subscriber     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    instance       BIGINT UNSIGNED NOT NULL,
    expires_at     BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (topic, consumer_group, subscriber, instance)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
