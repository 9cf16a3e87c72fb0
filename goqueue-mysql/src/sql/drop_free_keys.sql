-- Removes unique keys whose hold is over. A range of `taken`.
DELETE FROM {prefix}_unique_keys WHERE queue = {queue} AND taken_until <= {now}
ORDER BY queue, taken_until LIMIT {limit};
