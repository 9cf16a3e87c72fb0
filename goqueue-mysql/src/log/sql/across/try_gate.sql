-- Locks the row of whoever collects, unless somebody has it. Uses the primary key.
SELECT 1 FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key = '' FOR UPDATE SKIP LOCKED;
SELECT 1 FROM {prefix}_queue_offsets
WHERE topic = {topic} AND consumer_group = '' AND partition_key = '';
