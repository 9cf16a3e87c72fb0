-- Copies dead letters back to the jobs. Uses the primary key of the dead letters.
INSERT INTO {prefix}_jobs (queue, id, ordering_key, unique_key, body, visible_after)
SELECT queue, id, ordering_key, unique_key, body, {now} FROM {prefix}_dead_letters
WHERE queue = {queue} AND id IN ({ids}) ORDER BY id;
