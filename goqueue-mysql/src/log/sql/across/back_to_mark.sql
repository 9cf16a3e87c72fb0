-- Undoes what was done since the mark. Rows that were locked before stay so.
ROLLBACK TO SAVEPOINT goqueue_append;
