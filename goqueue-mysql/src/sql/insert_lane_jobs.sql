-- Puts the jobs that the statement before has stored at the ends of their lanes. Adds to the
-- primary key. A statement that knows its rows numbers them without gaps.
-- {rows}: ('queue', x'key', LAST_INSERT_ID() + n * @@auto_increment_increment).
INSERT INTO {prefix}_lane_jobs (queue, ordering_key, seq) VALUES {rows};
