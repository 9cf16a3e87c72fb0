-- Statements that touch no row, one for each right that the driver needs on a table.
-- {table}: the table's name behind the prefix. {column}: a column that it has.
SELECT 1 FROM {prefix}_{table} LIMIT 0;
INSERT INTO {prefix}_{table} SELECT * FROM {prefix}_{table} WHERE 1 = 0;
UPDATE {prefix}_{table} SET {column} = {column} WHERE 1 = 0;
DELETE FROM {prefix}_{table} WHERE 1 = 0;
