-- mysql.innodb_table_stats and mysql.innodb_index_stats.
CREATE TABLE a (id INT PRIMARY KEY, n INT, m VARCHAR(9), KEY k (n), UNIQUE u (m), KEY w (m(2), n));
CREATE TABLE c (x INT, KEY v (x));
CREATE TABLE d (p INT, q INT, r INT, PRIMARY KEY (p, q), KEY (q), KEY (r), KEY t (r, p), UNIQUE s (r), KEY fu ((r + 1)));
CREATE TABLE e (x INT) STATS_PERSISTENT = 0;
CREATE TABLE f (x INT) STATS_PERSISTENT = 1;
CREATE VIEW g AS SELECT 1;
INSERT INTO a VALUES (1, 1, 'aa'), (2, 1, 'ab'), (3, 2, 'b');
INSERT INTO c VALUES (1), (1), (2);
INSERT INTO d VALUES (1, 1, 1), (1, 2, 2), (2, 1, 3);
ANALYZE TABLE a, c, d, e, f;
SELECT database_name, table_name, n_rows, clustered_index_size, sum_of_other_index_sizes, last_update IS NULL FROM mysql.innodb_table_stats WHERE database_name = 'golden';
SELECT table_name, index_name, stat_name, stat_value, stat_description FROM mysql.innodb_index_stats WHERE database_name = 'golden';
SELECT stat_name, sample_size FROM mysql.innodb_index_stats WHERE database_name = 'golden' AND index_name = 'k';
RENAME TABLE f TO h;
SELECT table_name, n_rows FROM mysql.innodb_table_stats WHERE database_name = 'golden' AND table_name IN ('f', 'h');
DROP TABLE h;
SELECT COUNT(*) FROM mysql.innodb_index_stats WHERE database_name = 'golden' AND table_name IN ('f', 'h');
SELECT column_name, column_type, is_nullable FROM information_schema.columns WHERE table_schema = 'mysql' AND table_name IN ('innodb_table_stats', 'innodb_index_stats') ORDER BY table_name, ordinal_position;
