DROP TABLE IF EXISTS settings;
CREATE TABLE settings (name VARCHAR(50) PRIMARY KEY, value TEXT) COLLATE utf8mb4_bin;
INSERT INTO settings VALUES ('a', '1'), ('A', '2');
