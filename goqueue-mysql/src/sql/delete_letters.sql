-- Removes dead letters. A range of the primary key.
DELETE FROM {prefix}_dead_letters WHERE queue = {queue} {which} ORDER BY id LIMIT {limit};
