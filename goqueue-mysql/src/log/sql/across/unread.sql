-- Messages behind the cursor that are visible. A range of the primary key, in its order: MySQL takes
-- `ids` for a small table when it may, and sorts.
SELECT `offset`, partition_key, id, published_at, metadata, payload
FROM {prefix}_queue_messages FORCE INDEX (PRIMARY)
WHERE topic = {topic} AND partition_key = {partition}
    AND `offset` > {cursor} AND `offset` <= {end} AND visible_after <= {at}
ORDER BY `offset` LIMIT {limit};
