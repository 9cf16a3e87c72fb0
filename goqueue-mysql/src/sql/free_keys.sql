-- Frees the unique keys of jobs that have ended, those with a hold when it is over. Uses the
-- primary key; the sum keeps it from looking for rows by `taken_until`.
-- {keys}: (queue = 'queue' AND unique_key = x'key' AND id = x'id') OR …
UPDATE {prefix}_unique_keys SET taken_until = hold_until WHERE {keys};
DELETE FROM {prefix}_unique_keys WHERE ({keys}) AND taken_until + 0 <= {now};
