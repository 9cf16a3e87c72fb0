-- Removes dead letters whose time is over. A range of `died`.
DELETE FROM {prefix}_dead_letters WHERE queue = {queue} AND died_at < {now} - {retention}
ORDER BY queue, died_at LIMIT {limit};
