-- Puts jobs under a lease. Uses the primary key.
UPDATE {prefix}_jobs
SET visible_after = {now} + {lease}, leased = 1, attempt = attempt + 1, token = token + 1
WHERE seq IN ({seqs});
