-- Ends a transaction.
COMMIT;
