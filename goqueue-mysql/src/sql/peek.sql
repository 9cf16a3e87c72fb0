-- A page of the jobs of one state. A range of `ready`, in its order.
-- {state}: what the state means for `visible_after` and `leased`; {after}: where the page starts.
SELECT seq, visible_after, attempt, id, last_error, body,
    IF(visible_after < {held_from}, visible_after, visible_after - {held}) - {now} AS due_in
FROM {prefix}_jobs FORCE INDEX (ready)
WHERE queue = {queue} AND {state} {after}
ORDER BY queue, visible_after, seq LIMIT {limit};
