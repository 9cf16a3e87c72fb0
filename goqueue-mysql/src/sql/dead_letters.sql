-- A page of dead letters, by age of the job. A range of the primary key.
SELECT queue, id, reason, error, attempts, died_at, body FROM {prefix}_dead_letters
WHERE queue = {queue} {which} ORDER BY id LIMIT {limit};
