-- What a column of a foreign key may become. A change of its values is refused with
-- foreign_key_checks on; another character set too, so that with the checks off a table and its
-- parent can be converted one after the other.
CREATE TABLE p (id INT PRIMARY KEY, s VARCHAR(10) NOT NULL, d DECIMAL(5,2), u INT UNSIGNED,
  e ENUM('a','b'), t DATETIME, x CHAR(5), b VARBINARY(5), n INT, UNIQUE (s), UNIQUE (d), UNIQUE (u),
  UNIQUE (e), UNIQUE (t), UNIQUE (x), UNIQUE (b), UNIQUE (n));
CREATE TABLE c (id INT PRIMARY KEY, i INT, s VARCHAR(10), d DECIMAL(5,2), u INT UNSIGNED,
  e ENUM('a','b'), t DATETIME, x CHAR(5), b VARBINARY(5), n INT, FOREIGN KEY (i) REFERENCES p (id),
  FOREIGN KEY (s) REFERENCES p (s) ON UPDATE CASCADE, FOREIGN KEY (d) REFERENCES p (d),
  FOREIGN KEY (u) REFERENCES p (u), FOREIGN KEY (e) REFERENCES p (e), FOREIGN KEY (t) REFERENCES p (t),
  FOREIGN KEY (x) REFERENCES p (x), FOREIGN KEY (b) REFERENCES p (b),
  FOREIGN KEY (n) REFERENCES p (n) ON DELETE SET NULL);
ALTER TABLE c MODIFY i bigint;
ALTER TABLE c MODIFY i int not null;
ALTER TABLE c MODIFY i int default 5;
ALTER TABLE c MODIFY i int comment 'x';
ALTER TABLE c MODIFY i int unsigned;
ALTER TABLE c MODIFY s varchar(5);
ALTER TABLE c MODIFY s varchar(20);
ALTER TABLE c MODIFY s varchar(255);
ALTER TABLE c MODIFY s varchar(300);
ALTER TABLE c MODIFY s char(10);
ALTER TABLE c MODIFY s varchar(10) collate utf8mb4_bin;
ALTER TABLE c MODIFY s varchar(10) character set latin1;
ALTER TABLE c MODIFY s varchar(20) not null;
ALTER TABLE c MODIFY d decimal(6,2);
ALTER TABLE c MODIFY d decimal(5,2) not null;
ALTER TABLE c MODIFY u int;
ALTER TABLE c MODIFY e enum('a','b','c');
ALTER TABLE c MODIFY e enum('a');
ALTER TABLE c MODIFY t datetime(3);
ALTER TABLE c MODIFY x char(6);
ALTER TABLE c MODIFY x char(4);
ALTER TABLE c MODIFY b varbinary(6);
ALTER TABLE c MODIFY b binary(5);
ALTER TABLE c MODIFY n int not null;
ALTER TABLE c MODIFY i int first;
ALTER TABLE c MODIFY i int invisible;
ALTER TABLE p MODIFY id bigint;
ALTER TABLE p MODIFY id int auto_increment;
ALTER TABLE p MODIFY id int unsigned;
ALTER TABLE p MODIFY s varchar(5) not null;
ALTER TABLE p MODIFY s varchar(20) not null;
ALTER TABLE p MODIFY s varchar(10) null;
ALTER TABLE p MODIFY s varchar(20) collate utf8mb4_bin not null;
ALTER TABLE p MODIFY d decimal(6,2);
ALTER TABLE p MODIFY d decimal(5,2) not null;
ALTER TABLE p MODIFY u int;
ALTER TABLE p MODIFY e enum('a','b','c');
ALTER TABLE p MODIFY t datetime(3);
ALTER TABLE p MODIFY x char(6);
ALTER TABLE p MODIFY b varbinary(6);
ALTER TABLE p MODIFY n int not null;
ALTER TABLE c CHANGE i j INT;
ALTER TABLE p CHANGE id number INT;
ALTER TABLE c DROP FOREIGN KEY c_ibfk_1, MODIFY j BIGINT;
ALTER TABLE c CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE p CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
ALTER TABLE p CONVERT TO CHARACTER SET latin1;
SHOW CREATE TABLE p;
SHOW CREATE TABLE c;
-- A table to itself.
CREATE TABLE tree (id INT PRIMARY KEY, name VARCHAR(10), up VARCHAR(10), UNIQUE (name),
  FOREIGN KEY (up) REFERENCES tree (name));
ALTER TABLE tree MODIFY name VARCHAR(5);
ALTER TABLE tree MODIFY up VARCHAR(5);
ALTER TABLE tree MODIFY name VARCHAR(20), MODIFY up VARCHAR(20);
ALTER TABLE tree CONVERT TO CHARACTER SET latin1;
-- Without the checks.
SET foreign_key_checks = 0;
ALTER TABLE c CHANGE s name VARCHAR(20);
ALTER TABLE c MODIFY name VARCHAR(5);
ALTER TABLE p MODIFY s VARCHAR(300) NOT NULL;
ALTER TABLE c MODIFY u INT;
ALTER TABLE c MODIFY name VARBINARY(5);
ALTER TABLE p MODIFY s VARBINARY(300) NOT NULL;
ALTER TABLE p CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
SET foreign_key_checks = 1;
INSERT INTO p (number, s) VALUES (1, 'a'), (2, 'É');
INSERT INTO c (id, name) VALUES (1, 'a');
INSERT INTO c (id, name) VALUES (2, 'e');
ALTER TABLE c MODIFY name VARCHAR(5) COMMENT 'x';
SET foreign_key_checks = 0;
ALTER TABLE c CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
SET foreign_key_checks = 1;
ALTER TABLE c MODIFY name VARCHAR(5) COLLATE utf8mb4_bin COMMENT 'x';
INSERT INTO c (id, name) VALUES (3, 'A');
INSERT INTO c (id, name) VALUES (4, 'É');
UPDATE p SET s = 'b' WHERE s = 'a';
SELECT id, name FROM c ORDER BY id;
ALTER TABLE tree CONVERT TO CHARACTER SET latin1;
CREATE TABLE d (id INT PRIMARY KEY, s VARCHAR(10) COLLATE utf8mb4_general_ci, FOREIGN KEY (s) REFERENCES p (s));
