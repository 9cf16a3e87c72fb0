-- Forgets open messages that retention gives up. Ranges of the primary key.
DELETE FROM {prefix}_queue_delivery_state
WHERE topic = {topic} AND consumer_group IN ({groups}) AND ({ranges});
