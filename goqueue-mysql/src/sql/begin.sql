-- Every transaction of the driver: nothing but the rows it names is locked.
SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
START TRANSACTION;
