-- The character sets and collations of performance_schema's texts.
SELECT TABLE_NAME, COLUMN_NAME, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'performance_schema' AND COLLATION_NAME IS NOT NULL AND TABLE_NAME IN ('accounts', 'global_variables', 'threads', 'session_connect_attrs', 'events_statements_summary_by_digest', 'table_io_waits_summary_by_table', 'replication_asynchronous_connection_failover', 'replication_applier_configuration', 'replication_group_members') ORDER BY TABLE_NAME, ORDINAL_POSITION;
SELECT COUNT(*) > 0 FROM performance_schema.global_variables WHERE VARIABLE_NAME = 'VERSION';
SELECT COUNT(*) FROM performance_schema.accounts WHERE USER = 'NOBODY' OR HOST = 'ÉLSEWHERE';
SELECT COUNT(*) FROM information_schema.TABLES t JOIN performance_schema.table_io_waits_summary_by_table p ON t.TABLE_SCHEMA = p.OBJECT_SCHEMA AND t.TABLE_NAME = p.OBJECT_NAME WHERE t.TABLE_NAME = 'nothing';
SELECT COUNT(*) FROM information_schema.TABLES t JOIN performance_schema.accounts a ON a.USER = t.TABLE_NAME AND a.HOST = t.TABLE_SCHEMA;
SELECT COUNT(*) FROM performance_schema.global_status g JOIN information_schema.COLUMNS c ON g.VARIABLE_NAME = c.COLUMN_COMMENT;
SELECT COUNT(*) FROM performance_schema.accounts a JOIN performance_schema.session_connect_attrs s ON a.HOST = s.ATTR_VALUE;
SELECT COLLATION(CONCAT(t.TABLE_NAME, v.VARIABLE_NAME)) FROM information_schema.TABLES t JOIN performance_schema.global_variables v WHERE t.TABLE_NAME = 'TABLES' AND v.VARIABLE_NAME = 'version';
