-- Stores jobs. Adds to the primary key and to `ready`, both at their ends.
-- {rows}: (?, ?, ?, ?, ?, {now} + ?) for queue, id, ordering key, unique key, body, delay.
INSERT INTO {prefix}_jobs (queue, id, ordering_key, unique_key, body, visible_after) VALUES {rows}
