-- Stores a job under a lease. Adds to the primary key and to `ready`.
-- ?: queue, id, body, lease.
INSERT INTO {prefix}_jobs (queue, id, body, visible_after, leased, attempt, token)
VALUES (?, ?, ?, {now} + ?, 1, 1, 1)
