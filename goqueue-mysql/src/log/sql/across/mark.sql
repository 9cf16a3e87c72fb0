-- What is done from here on can be undone without ending the transaction.
SAVEPOINT goqueue_append;
