-- When the first job of a queue becomes visible, in milliseconds from now. The first entry of its
-- part of `ready`.
(SELECT visible_after - {now} AS due_in FROM {prefix}_jobs FORCE INDEX (ready)
 WHERE queue = {queue} ORDER BY queue, visible_after LIMIT 1)
