-- Where everyone stands in each partition.
--
-- consumer_group  partition_key  last_offset             done_offset
-- ''              a partition    given out last (head)   collected up to here (tail)
-- a group         a partition    read last (cursor)      acked up to here (watermark)
-- a group         ''             the same, for every partition without a row of its own; that this
--                                row exists is what makes the group known on the topic
-- ''              ''             nothing: whoever collects, or makes a group known, locks this row
--
-- Whoever publishes locks the partition's own row until the commit: so offsets are committed in
-- their order.
CREATE TABLE IF NOT EXISTS {prefix}_queue_offsets (
    topic          VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    consumer_group VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
    partition_key  VARBINARY(256) NOT NULL,
    last_offset    BIGINT UNSIGNED NOT NULL,
    done_offset    BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (topic, consumer_group, partition_key)
) ENGINE=InnoDB ROW_FORMAT=DYNAMIC;
