-- How the server is set up, as text. A variable that it does not have is left out.
SHOW VARIABLES WHERE Variable_name IN (
    'version', 'read_only', 'log_bin', 'binlog_format', 'transaction_isolation', 'tx_isolation',
    'time_zone', 'system_time_zone', 'max_allowed_packet', 'max_connections',
    'innodb_flush_log_at_trx_commit'
);
