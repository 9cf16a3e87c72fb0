-- Takes unique keys for dead letters that come back: from anyone but a live job, and with the hold
-- that is on them. Uses the primary key.
-- {rows}: ('queue', x'key', x'id', 0, {never}).
INSERT INTO {prefix}_unique_keys (queue, unique_key, id, hold_until, taken_until) VALUES {rows}
ON DUPLICATE KEY UPDATE
    id = IF(taken_until < {never}, VALUES(id), id),
    taken_until = {never};
