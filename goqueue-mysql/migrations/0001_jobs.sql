-- Jobs, their keys, the dead letters and the names of the queues.
--
-- `visible_after` (milliseconds since the Unix epoch, by the server's clock) is the whole state:
--   below 0        in front of its queue; its negative is when it was released
--   up to now      ready, or left behind by a worker whose lease ran out (`leased` is 1)
--   beyond now     scheduled or waiting for a retry (`leased` is 0), or running (`leased` is 1)
--   2^62 and more  held by an earlier job of its ordering key; 2^62 less is when it is due
CREATE TABLE IF NOT EXISTS {prefix}_jobs (
    seq           BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    queue         VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    visible_after BIGINT NOT NULL,
    leased        TINYINT UNSIGNED NOT NULL DEFAULT 0,
    attempt       INT UNSIGNED NOT NULL DEFAULT 0,
    token         INT UNSIGNED NOT NULL DEFAULT 0,
    id            BINARY(16) NOT NULL,
    ordering_key  VARBINARY(256) NULL,
    unique_key    VARBINARY(256) NULL,
    last_error    TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NULL,
    body          MEDIUMBLOB NOT NULL,
    PRIMARY KEY (seq),
    KEY ready (queue, visible_after, seq, leased)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- One row per ordering key that is in use: the job that may run.
CREATE TABLE IF NOT EXISTS {prefix}_lanes (
    queue        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    ordering_key VARBINARY(256) NOT NULL,
    seq          BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (queue, ordering_key)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- One row per live job with an ordering key, in the order of their pushes.
CREATE TABLE IF NOT EXISTS {prefix}_lane_jobs (
    queue        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    ordering_key VARBINARY(256) NOT NULL,
    seq          BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (queue, ordering_key, seq)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- One row per taken unique key: free again once `taken_until` has passed. While the job lives that
-- is never, and `hold_until` says what it will be then.
CREATE TABLE IF NOT EXISTS {prefix}_unique_keys (
    queue       VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    unique_key  VARBINARY(256) NOT NULL,
    id          BINARY(16) NOT NULL,
    hold_until  BIGINT NOT NULL,
    taken_until BIGINT NOT NULL,
    PRIMARY KEY (queue, unique_key),
    KEY taken (queue, taken_until)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

CREATE TABLE IF NOT EXISTS {prefix}_dead_letters (
    queue        VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    id           BINARY(16) NOT NULL,
    reason       VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    attempts     INT UNSIGNED NOT NULL,
    died_at      BIGINT NOT NULL,
    ordering_key VARBINARY(256) NULL,
    unique_key   VARBINARY(256) NULL,
    error        TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
    body         MEDIUMBLOB NOT NULL,
    PRIMARY KEY (queue, id),
    KEY died (queue, died_at)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;

-- Every queue that has handed out a job.
CREATE TABLE IF NOT EXISTS {prefix}_queues (
    queue VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (queue)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
