-- What a table and its indexes take.
SELECT CAST(data_length + index_length AS UNSIGNED) FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = ?
