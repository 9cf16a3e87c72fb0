-- The least that a queue of leases needs.
CREATE TABLE IF NOT EXISTS bare_jobs (
    seq           BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    queue         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    visible_after BIGINT NOT NULL,
    body          MEDIUMBLOB NOT NULL,
    PRIMARY KEY (seq),
    KEY ready (queue, visible_after, seq)
) ENGINE=InnoDB
