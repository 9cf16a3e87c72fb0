-- Locks lanes, waiting for whoever is moving them on. Uses the primary key.
-- {lanes}: (queue = 'queue' AND ordering_key = x'key') OR …
SELECT queue, ordering_key, seq FROM {prefix}_lanes WHERE {lanes}
ORDER BY queue, ordering_key FOR UPDATE;
