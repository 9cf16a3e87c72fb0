-- Takes the unique keys that are free; of the others nothing changes. Uses the primary key.
-- `taken_until` is last: the other columns look at what it was.
-- {rows}: ('queue', x'key', x'id', {now} + hold, {never}).
INSERT INTO {prefix}_unique_keys (queue, unique_key, id, hold_until, taken_until) VALUES {rows}
ON DUPLICATE KEY UPDATE
    id = IF(taken_until <= {now}, VALUES(id), id),
    hold_until = IF(taken_until <= {now}, VALUES(hold_until), hold_until),
    taken_until = IF(taken_until <= {now}, {never}, taken_until);
