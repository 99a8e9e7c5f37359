# The collations of the databases that are not made by anyone.
select schema_name, default_character_set_name, default_collation_name from information_schema.schemata where schema_name in ('information_schema', 'mysql', 'performance_schema', 'sys') order by 1;
show create database information_schema;
show create database sys;
use information_schema;
select @@collation_database, @@character_set_database;
use mysql;
select @@collation_database, @@character_set_database;
use golden;
select @@collation_database, @@character_set_database;
select table_name from information_schema.tables where table_schema = 'mysql' and table_name collate utf8mb3_general_ci = 'USER';
select table_name from information_schema.tables where table_schema = 'mysql' and table_name collate utf8mb4_0900_ai_ci = 'USER';
