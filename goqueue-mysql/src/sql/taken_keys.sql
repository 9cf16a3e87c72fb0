-- Who has these unique keys, without locking anything. Uses the primary key.
-- {keys}: (queue = 'queue' AND unique_key = x'key') OR …
SELECT queue, unique_key, id FROM {prefix}_unique_keys FORCE INDEX (PRIMARY)
WHERE ({keys}) AND taken_until > {now};
