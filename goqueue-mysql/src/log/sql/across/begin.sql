-- Every transaction of the log: nothing but the rows it names is locked.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
