-- Keeps a dead letter of any driver; one that is there already stays. Uses the primary key.
INSERT INTO {prefix}_dead_letters (queue, id, reason, attempts, died_at, error, body)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE id = {prefix}_dead_letters.id
