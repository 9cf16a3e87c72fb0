-- Forgets what is open. A range of the primary key.
DELETE FROM {prefix}_queue_delivery_state WHERE topic = {topic};
