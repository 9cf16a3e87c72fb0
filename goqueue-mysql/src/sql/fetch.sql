-- Reads the jobs just put under a lease. Uses the primary key.
SELECT seq, token, attempt, queue, id, body FROM {prefix}_jobs WHERE seq IN ({seqs});
