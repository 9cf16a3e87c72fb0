-- The driver's tables, and by which engine each is kept.
-- {tables}: their names, quoted.
SELECT CAST(TABLE_NAME AS CHAR) AS name, CAST(COALESCE(ENGINE, '') AS CHAR) AS engine
FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME IN ({tables});
