-- Lets the next one have the named lock.
SELECT RELEASE_LOCK('{lock}');
