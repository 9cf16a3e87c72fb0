-- Ends deliveries whose messages are to be delivered again. One look-up in the primary key per row
-- of `verdict`.
-- {verdicts}: SELECT x'key' AS partition_key, 7 AS position, 1 AS kind, 2 AS attempt, 1000 AS delay,
--   x'error' AS error UNION ALL SELECT …
UPDATE ({verdicts}) verdict STRAIGHT_JOIN {prefix}_queue_delivery_state state
    ON state.topic = {topic} AND state.partition_key = verdict.partition_key
    AND state.consumer_group = {group} AND state.`offset` = verdict.position
SET state.kind = verdict.kind, state.attempt = verdict.attempt, state.receipt = 0,
    state.visible_after = IF(verdict.delay = 0, 0, {now} + verdict.delay),
    state.last_error = IF(verdict.error IS NULL, state.last_error,
        CONVERT(verdict.error USING utf8mb4));
