-- Some dead letters that are to come back. A range of the primary key.
SELECT id, queue, ordering_key, unique_key FROM {prefix}_dead_letters
WHERE queue = {queue} {which} ORDER BY id LIMIT {limit} FOR UPDATE;
