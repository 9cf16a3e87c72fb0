-- Waits for a named lock. Without it in the end everything goes on all the same.
SELECT GET_LOCK('{lock}', {seconds});
