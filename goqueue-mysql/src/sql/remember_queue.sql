-- Notes that a queue is in use. Uses the primary key.
INSERT IGNORE INTO {prefix}_queues (queue) VALUES ({queue});
