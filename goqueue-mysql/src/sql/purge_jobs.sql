-- Removes jobs. Uses the primary key.
DELETE FROM {prefix}_jobs WHERE seq IN ({seqs});
