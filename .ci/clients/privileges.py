#!/usr/bin/env python3
"""Accounts may do in Cohort what they may do in MySQL 9.7: statements of all kinds are run by an
account without privileges, with just those that the statement needs, with each of these left out,
through a role, and with random ones on random levels. Both servers answer the same, or refuse with
the same error.

  .ci/clients/privileges.py [ROUNDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import pathlib
import random
import sys
import tempfile
import threading

import pymysql

from cohort import Cohort, free_port, seed_of
from replicas import PEERS
from sources import MySQL, Source

# What there is. It is made again after each statement that has changed something.
OBJECTS = """
DROP DATABASE IF EXISTS pd
DROP DATABASE IF EXISTS `p_d`
DROP DATABASE IF EXISTS made
CREATE DATABASE pd
CREATE DATABASE `p_d`
CREATE TABLE pd.t (a INT PRIMARY KEY, b INT, c INT, KEY i (c))
CREATE TABLE pd.u (a INT PRIMARY KEY, b INT)
CREATE TABLE p_d.t (a INT PRIMARY KEY, b INT, c INT)
INSERT INTO pd.t VALUES (1, 1, 1), (2, 2, 2)
INSERT INTO pd.u VALUES (1, 1), (2, 2), (3, 3)
CREATE VIEW pd.v AS SELECT a, b AS x FROM pd.t
CREATE SQL SECURITY INVOKER VIEW pd.w AS SELECT a, b FROM pd.t
CREATE DEFINER = weak@localhost VIEW pd.z AS SELECT a, b FROM pd.t
CREATE VIEW pd.vv AS SELECT x FROM pd.v WHERE a < 5
""".strip().split("\n")
ACCOUNTS = """
DROP USER IF EXISTS u@localhost, weak@localhost, other@localhost, renamed@localhost
DROP ROLE IF EXISTS r, r2
CREATE USER u@localhost, weak@localhost, other@localhost
CREATE ROLE r, r2
GRANT SELECT (a), UPDATE ON pd.t TO weak@localhost
""".strip().split("\n")

# Each statement with what it needs: privileges @ what they are granted on.
STATEMENTS = """
SELECT * FROM pd.t ORDER BY a | SELECT@pd.t
SELECT a FROM pd.t WHERE b = 1 | SELECT(a)@pd.t, SELECT(b)@pd.t
SELECT COUNT(*) FROM pd.t | SELECT(c)@pd.t
SELECT 1 FROM pd.t LIMIT 1 | SELECT(c)@pd.t
SELECT t.a FROM pd.t JOIN pd.u USING (a) | SELECT(a)@pd.t, SELECT(a)@pd.u
SELECT a FROM pd.t WHERE EXISTS (SELECT 1 FROM pd.u WHERE u.a = t.b) ORDER BY a | SELECT(a)@pd.t, SELECT(b)@pd.t, SELECT(a)@pd.u
SELECT (SELECT MAX(b) FROM pd.u) AS m | SELECT(b)@pd.u
SELECT c, SUM(b) FROM pd.t GROUP BY c HAVING SUM(b) > 0 ORDER BY c | SELECT(b)@pd.t, SELECT(c)@pd.t
SELECT a AS k FROM pd.t ORDER BY b | SELECT(a)@pd.t, SELECT(b)@pd.t
WITH q AS (SELECT a FROM pd.t) SELECT * FROM q ORDER BY a | SELECT(a)@pd.t
SELECT * FROM (SELECT a, b FROM pd.t) AS q ORDER BY a | SELECT(a)@pd.t, SELECT(b)@pd.t
SELECT a FROM pd.t UNION SELECT b FROM pd.u ORDER BY 1 | SELECT(a)@pd.t, SELECT(b)@pd.u
SELECT x.a FROM pd.t AS x, pd.t AS y WHERE x.a = y.b ORDER BY 1 | SELECT(a)@pd.t, SELECT(b)@pd.t
SELECT * FROM pd.v ORDER BY a | SELECT@pd.v
SELECT x FROM pd.v ORDER BY x | SELECT(x)@pd.v
SELECT * FROM pd.w ORDER BY a | SELECT@pd.w, SELECT(a)@pd.t, SELECT(b)@pd.t
SELECT a FROM pd.z | SELECT@pd.z
SELECT * FROM pd.vv ORDER BY 1 | SELECT@pd.vv
EXPLAIN SELECT a FROM pd.t | SELECT(a)@pd.t
DO (SELECT MAX(a) FROM pd.t) | SELECT(a)@pd.t
SET @x = (SELECT MAX(a) FROM pd.t) | SELECT(a)@pd.t
SELECT * FROM pd.nonesuch | SELECT@pd.*
SELECT * FROM nonesuch.t | SELECT@nonesuch.*
SELECT nonesuch FROM pd.t | SELECT@pd.t
INSERT INTO pd.t VALUES (7, 7, 7) | INSERT@pd.t
INSERT INTO pd.t (a, b) VALUES (7, 7) | INSERT(a)@pd.t, INSERT(b)@pd.t
INSERT INTO pd.t () VALUES () | INSERT(a)@pd.t
INSERT INTO pd.t SET a = 7, c = 7 | INSERT(a)@pd.t, INSERT(c)@pd.t
INSERT INTO pd.t (a) SELECT b + 10 FROM pd.u | INSERT(a)@pd.t, SELECT(b)@pd.u
INSERT INTO pd.t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = 9 | INSERT(a)@pd.t, UPDATE(b)@pd.t
INSERT INTO pd.t (a) VALUES (1) ON DUPLICATE KEY UPDATE b = c + 1 | INSERT(a)@pd.t, UPDATE(b)@pd.t, SELECT(c)@pd.t
INSERT INTO pd.v (a, x) VALUES (7, 7) | INSERT@pd.v
INSERT INTO pd.v (a) VALUES (7) | INSERT(a)@pd.v
INSERT INTO pd.z (a) VALUES (7) | INSERT@pd.z
INSERT INTO pd.nonesuch VALUES (1) | INSERT@pd.*
REPLACE INTO pd.t VALUES (1, 7, 7) | INSERT@pd.t, DELETE@pd.t
REPLACE INTO pd.t (a) VALUES (1) | INSERT(a)@pd.t, DELETE@pd.t
UPDATE pd.t SET b = 1 | UPDATE(b)@pd.t
UPDATE pd.t SET b = c WHERE a = 1 | UPDATE(b)@pd.t, SELECT(a)@pd.t, SELECT(c)@pd.t
UPDATE pd.t SET b = b + 1 | UPDATE(b)@pd.t, SELECT(b)@pd.t
UPDATE pd.t SET b = 5 ORDER BY c LIMIT 1 | UPDATE(b)@pd.t, SELECT(c)@pd.t
UPDATE pd.t SET b = a, c = b WHERE c = 1 ORDER BY b LIMIT 1 | UPDATE(b)@pd.t, UPDATE(c)@pd.t, SELECT(a)@pd.t, SELECT(b)@pd.t, SELECT(c)@pd.t
UPDATE pd.t SET b = c, b = a | UPDATE(b)@pd.t, SELECT(a)@pd.t, SELECT(c)@pd.t
UPDATE pd.v SET x = a WHERE a = x | UPDATE(x)@pd.v, SELECT(a)@pd.v, SELECT(x)@pd.v
UPDATE pd.t, pd.u SET t.b = t.c, u.b = t.b WHERE t.a = 1 | UPDATE(b)@pd.t, UPDATE(b)@pd.u, SELECT(a)@pd.t, SELECT(b)@pd.t, SELECT(c)@pd.t
INSERT INTO pd.t (a, b) VALUES (1, c) ON DUPLICATE KEY UPDATE c = b | INSERT(a)@pd.t, INSERT(b)@pd.t, SELECT(c)@pd.t, UPDATE(c)@pd.t, SELECT(b)@pd.t
UPDATE pd.t, pd.u SET t.b = u.b WHERE t.a = u.a | UPDATE(b)@pd.t, SELECT(a)@pd.t, SELECT(a)@pd.u, SELECT(b)@pd.u
UPDATE pd.v SET x = 3 WHERE a = 1 | UPDATE(x)@pd.v, SELECT(a)@pd.v
UPDATE pd.z SET b = 3 | UPDATE@pd.z
UPDATE pd.nonesuch SET a = 1 | UPDATE@pd.*
DELETE FROM pd.t | DELETE@pd.t
DELETE FROM pd.t WHERE b = 1 | DELETE@pd.t, SELECT(b)@pd.t
DELETE pd.t FROM pd.t JOIN pd.u ON t.a = u.a | DELETE@pd.t, SELECT(a)@pd.t, SELECT(a)@pd.u
DELETE FROM pd.v WHERE x = 1 | DELETE@pd.v, SELECT(x)@pd.v
SELECT a FROM pd.t FOR UPDATE | SELECT(a)@pd.t, UPDATE@pd.t
SELECT a FROM pd.t FOR UPDATE | SELECT(a)@pd.t, DELETE@pd.t
SELECT a FROM pd.t FOR SHARE | SELECT(a)@pd.t, LOCK TABLES@pd.*
CREATE DATABASE made | CREATE@made.*
CREATE DATABASE made | CREATE@*.*
DROP DATABASE pd | DROP@pd.*
ALTER DATABASE pd CHARACTER SET latin1 | ALTER@pd.*
CREATE TABLE pd.n (a INT) | CREATE@pd.n
CREATE TABLE pd.n LIKE pd.t | CREATE@pd.n, SELECT@pd.t
CREATE TABLE pd.n AS SELECT a FROM pd.t | CREATE@pd.*, INSERT@pd.*, SELECT(a)@pd.t
CREATE TABLE pd.n (a INT, FOREIGN KEY (a) REFERENCES pd.u (a)) | CREATE@pd.n, REFERENCES@pd.u
CREATE TEMPORARY TABLE pd.n (a INT) | CREATE TEMPORARY TABLES@pd.*
DROP TABLE pd.t | DROP@pd.t
DROP TABLE pd.nonesuch | DROP@pd.*
TRUNCATE TABLE pd.t | DROP@pd.t
RENAME TABLE pd.t TO pd.n | DROP@pd.t, ALTER@pd.t, CREATE@pd.*, INSERT@pd.*
ALTER TABLE pd.t ADD d INT | ALTER@pd.t
ALTER TABLE pd.t RENAME TO pd.n | DROP@pd.t, ALTER@pd.t, CREATE@pd.*, INSERT@pd.*
ALTER TABLE pd.t ADD FOREIGN KEY (b) REFERENCES pd.u (a) | ALTER@pd.t, REFERENCES@pd.u
CREATE INDEX n ON pd.t (b) | INDEX@pd.t
DROP INDEX i ON pd.t | INDEX@pd.t
CREATE VIEW pd.n AS SELECT a FROM pd.t | CREATE VIEW@pd.*, SELECT(a)@pd.t
CREATE OR REPLACE VIEW pd.v AS SELECT 1 AS a | CREATE VIEW@pd.v, DROP@pd.v
ALTER VIEW pd.v AS SELECT 1 AS a | CREATE VIEW@pd.v, DROP@pd.v
CREATE DEFINER = root@localhost VIEW pd.n AS SELECT 1 AS a | CREATE VIEW@pd.*, SET_ANY_DEFINER@*.*, ALLOW_NONEXISTENT_DEFINER@*.*
DROP VIEW pd.v | DROP@pd.v
SHOW CREATE TABLE pd.t | INDEX@pd.t
SHOW CREATE VIEW pd.v | SELECT@pd.v, SHOW VIEW@pd.v
SHOW COLUMNS FROM pd.t | INSERT@pd.t
SHOW COLUMNS FROM pd.t | SELECT(b)@pd.t
SHOW FULL COLUMNS FROM pd.t | SELECT(b)@pd.t, UPDATE(a)@pd.t
SHOW INDEX FROM pd.t | INSERT@pd.t
SHOW TABLES FROM pd | SELECT(a)@pd.t
SHOW TABLES FROM pd | DELETE@pd.v
SHOW CREATE DATABASE pd | INSERT@pd.t
SHOW DATABASES LIKE 'p%' | SHOW DATABASES@*.*
SHOW DATABASES LIKE 'p%' | EXECUTE@pd.*
SHOW DATABASES LIKE 'p%' | SELECT@pd.t
USE pd | EXECUTE@pd.*
USE pd | SELECT(a)@pd.t
USE nonesuch | SELECT@nonesuch.*
SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'pd' ORDER BY 1 | SELECT(a)@pd.t, DROP@pd.v
SELECT TABLE_NAME, COLUMN_NAME, PRIVILEGES FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'pd' ORDER BY 1, 2 | SELECT(a)@pd.t, INSERT(b)@pd.t, REFERENCES@pd.u
SELECT TABLE_NAME, INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = 'pd' ORDER BY 1, 2 | SELECT(a)@pd.t
SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA = 'pd' ORDER BY 1 | SELECT@pd.v
SELECT TABLE_NAME, CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = 'pd' ORDER BY 1, 2 | INSERT@pd.u
SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'p%d' ORDER BY 1 | SELECT@pd.u
SELECT * FROM information_schema.SCHEMA_PRIVILEGES WHERE GRANTEE LIKE '''u''%' ORDER BY 1, 3, 4 | SELECT@mysql.*, INSERT@pd.*
SELECT * FROM information_schema.TABLE_PRIVILEGES WHERE TABLE_SCHEMA = 'pd' ORDER BY 1, 3, 4, 5 | SELECT@pd.t, INSERT@pd.u
SELECT * FROM information_schema.COLUMN_PRIVILEGES ORDER BY 1, 3, 4, 5, 6 | SELECT(a)@pd.t, SELECT(b)@pd.t
SELECT * FROM information_schema.USER_PRIVILEGES WHERE GRANTEE LIKE '''u''%' ORDER BY 1, 3 | PROCESS@*.*, BACKUP_ADMIN@*.*
SELECT Host, Db, User, Select_priv, Grant_priv, Trigger_priv FROM mysql.db WHERE User = 'u' | SELECT@mysql.db, SELECT@pd.*
SELECT Host, User, Select_priv, Create_role_priv, account_locked FROM mysql.user WHERE User IN ('u', 'r') ORDER BY 2 | SELECT@mysql.user
SELECT Db, User, Table_name, Grantor, Table_priv, Column_priv FROM mysql.tables_priv WHERE Db = 'pd' ORDER BY 2, 3 | SELECT@mysql.tables_priv, INSERT(a)@pd.t
SELECT Db, User, Table_name, Column_name, Column_priv FROM mysql.columns_priv ORDER BY 2, 3, 4 | SELECT@mysql.columns_priv, INSERT(a)@pd.t
SELECT * FROM mysql.global_grants WHERE USER = 'u' | SELECT@mysql.global_grants, BACKUP_ADMIN@*.*
SELECT COUNT(*) > 0 FROM performance_schema.session_status |
SELECT COUNT(*) FROM performance_schema.data_locks | SELECT@performance_schema.data_locks
LOCK TABLES pd.t READ | LOCK TABLES@pd.*, SELECT@pd.t
LOCK TABLES pd.t WRITE | LOCK TABLES@pd.*, SELECT@pd.*
ANALYZE TABLE pd.t | SELECT@pd.t, INSERT@pd.t
OPTIMIZE TABLE pd.t | SELECT@pd.t, INSERT@pd.t
CHECK TABLE pd.t | SELECT@pd.t
CHECKSUM TABLE pd.t | SELECT@pd.t
FLUSH TABLES | FLUSH_TABLES@*.*
FLUSH TABLES | RELOAD@*.*
FLUSH STATUS | FLUSH_STATUS@*.*
FLUSH LOGS | RELOAD@*.*
FLUSH PRIVILEGES | FLUSH_PRIVILEGES@*.*
SET GLOBAL max_error_count = 64 | SYSTEM_VARIABLES_ADMIN@*.*
SET GLOBAL max_error_count = 64 | SUPER@*.*
SET PERSIST max_error_count = 64 | SYSTEM_VARIABLES_ADMIN@*.*
RESET PERSIST IF EXISTS max_error_count | SYSTEM_VARIABLES_ADMIN@*.*
SET sql_log_bin = 0 | SESSION_VARIABLES_ADMIN@*.*
SET gtid_next = 'AUTOMATIC' | REPLICATION_APPLIER@*.*
SHOW BINARY LOG STATUS | REPLICATION CLIENT@*.*
SHOW REPLICAS | REPLICATION SLAVE@*.*
SHOW REPLICA STATUS | REPLICATION CLIENT@*.*
START REPLICA | REPLICATION_SLAVE_ADMIN@*.*
STOP REPLICA | SUPER@*.*
SHOW ENGINE INNODB STATUS | PROCESS@*.*
LOCK INSTANCE FOR BACKUP | BACKUP_ADMIN@*.*
XA RECOVER | XA_RECOVER_ADMIN@*.*
SHOW GRANTS | SELECT@pd.t, BACKUP_ADMIN@*.*
SHOW GRANTS FOR u@localhost | SELECT(a)@pd.t, INSERT@pd.*
SHOW GRANTS FOR other@localhost | SELECT@mysql.*
SHOW CREATE USER other@localhost | SELECT@mysql.*
CREATE USER renamed@localhost | CREATE USER@*.*
DROP USER other@localhost | CREATE USER@*.*
DROP USER root@localhost | CREATE USER@*.*
ALTER USER other@localhost ACCOUNT LOCK | CREATE USER@*.*
ALTER USER u@localhost ACCOUNT UNLOCK | CREATE USER@*.*
ALTER USER u@localhost IDENTIFIED BY '' |
ALTER USER USER() IDENTIFIED BY '' |
ALTER USER CURRENT_USER() IDENTIFIED BY '' |
ALTER USER root@localhost IDENTIFIED BY '' | CREATE USER@*.*
RENAME USER other@localhost TO renamed@localhost | CREATE USER@*.*
GRANT SELECT ON pd.* TO other@localhost | SELECT@pd.*, GRANT OPTION@pd.*
GRANT SELECT ON pd.t TO other@localhost | SELECT@pd.t, GRANT OPTION@pd.t
GRANT SELECT (a) ON pd.t TO other@localhost | SELECT@pd.t, GRANT OPTION@pd.t
GRANT SELECT ON *.* TO other@localhost | SELECT@*.*, GRANT OPTION@*.*
GRANT ALL ON pd.t TO other@localhost | ALL@pd.t, GRANT OPTION@pd.t
GRANT ALL ON pd.* TO other@localhost | ALL@pd.*, GRANT OPTION@pd.*
GRANT INSERT ON pd.* TO other@localhost | SELECT@pd.*, GRANT OPTION@pd.*
GRANT BACKUP_ADMIN ON *.* TO other@localhost | BACKUP_ADMIN@*.*
REVOKE UPDATE ON pd.t FROM weak@localhost | UPDATE@pd.t, GRANT OPTION@pd.t
REVOKE ALL, GRANT OPTION FROM other@localhost | CREATE USER@*.*
CREATE ROLE n | CREATE ROLE@*.*
DROP ROLE r2 | DROP ROLE@*.*
GRANT r2 TO other@localhost | ROLE_ADMIN@*.*
REVOKE r2 FROM other@localhost | ROLE_ADMIN@*.*
SET DEFAULT ROLE NONE TO other@localhost | CREATE USER@*.*
SET ROLE NONE |
SET ROLE r2 |
SELECT CURRENT_ROLE(), CURRENT_USER() |
SET PASSWORD = '' |
SET PASSWORD FOR other@localhost = '' | CREATE USER@*.*
"""

# What is done with roles and accounts, by root or by the account u, one after another.
STORY = """
root: CREATE ROLE writer, reader@'%', boss
root: CREATE ROLE IF NOT EXISTS reader, fresh
root: GRANT SELECT ON pd.* TO reader
root: GRANT INSERT (a, b) ON pd.t TO writer
root: GRANT reader TO writer
root: GRANT writer, reader TO u@localhost
u: SELECT CURRENT_ROLE()
u: SELECT COUNT(*) FROM pd.t
u: SET ROLE writer; SELECT CURRENT_ROLE(); SELECT COUNT(*) FROM pd.t; SHOW GRANTS; SET ROLE NONE; SELECT COUNT(*) FROM pd.t
u: SET ROLE ALL; SELECT CURRENT_ROLE(); SELECT * FROM information_schema.ENABLED_ROLES ORDER BY 1
u: SET ROLE ALL EXCEPT writer; SELECT CURRENT_ROLE()
u: SET ROLE boss
u: SHOW GRANTS FOR u@localhost USING writer
u: SHOW GRANTS FOR u@localhost USING boss
u: SELECT * FROM information_schema.APPLICABLE_ROLES ORDER BY 1, 5, 3
u: SET DEFAULT ROLE writer TO u@localhost
u: SELECT CURRENT_ROLE()
u: SET ROLE NONE; SET ROLE DEFAULT; SELECT CURRENT_ROLE()
u: SELECT * FROM information_schema.APPLICABLE_ROLES ORDER BY 1, 5, 3
u: SET ROLE writer; SELECT * FROM information_schema.ROLE_COLUMN_GRANTS ORDER BY 8
u: GRANT writer TO other@localhost
root: GRANT writer TO u@localhost WITH ADMIN OPTION
u: GRANT writer TO other@localhost
u: REVOKE writer FROM other@localhost
root: GRANT u@localhost TO other@localhost
root: GRANT writer TO reader
root: GRANT writer TO writer
root: GRANT nobody TO u@localhost
root: GRANT boss TO nobody
root: REVOKE nobody FROM u@localhost
root: REVOKE IF EXISTS nobody FROM u@localhost
root: REVOKE boss FROM nobody IGNORE UNKNOWN USER
root: REVOKE boss FROM u@localhost
root: SELECT * FROM mysql.role_edges ORDER BY 1, 2, 3, 4
root: SELECT * FROM mysql.default_roles
root: ALTER USER u@localhost DEFAULT ROLE ALL
root: SELECT * FROM mysql.default_roles ORDER BY 4
root: SHOW CREATE USER u@localhost
root: ALTER USER u@localhost DEFAULT ROLE NONE
u: SELECT CURRENT_ROLE()
root: SET GLOBAL activate_all_roles_on_login = ON
u: SELECT CURRENT_ROLE()
root: SET GLOBAL mandatory_roles = 'boss, nobody'
u: SELECT CURRENT_ROLE()
u: SHOW GRANTS FOR u@localhost
root: SET GLOBAL activate_all_roles_on_login = OFF
u: SELECT CURRENT_ROLE()
u: SET ROLE boss; SELECT CURRENT_ROLE()
root: SET GLOBAL mandatory_roles = ''
u: SET ROLE boss
root: RENAME USER writer TO author
root: RENAME USER other@localhost TO fresh@localhost
root: RENAME USER fresh@localhost TO other@localhost
root: SHOW GRANTS FOR u@localhost
root: DROP ROLE writer
root: SHOW GRANTS FOR u@localhost
root: SELECT * FROM mysql.role_edges ORDER BY 1, 2, 3, 4
root: DROP ROLE nobody, fresh
root: DROP ROLE IF EXISTS nobody, fresh
root: CREATE ROLE reader, u@localhost
root: CREATE USER made@localhost REQUIRE SSL ACCOUNT LOCK COMMENT 'it''s'
root: SHOW CREATE USER made@localhost
root: ALTER USER made@localhost ACCOUNT UNLOCK ATTRIBUTE '{"a": [1, {"b": null}], "comment": null}'
root: SHOW CREATE USER made@localhost
root: SELECT * FROM information_schema.USER_ATTRIBUTES WHERE USER = 'made'
root: SELECT User_attributes FROM mysql.user WHERE User = 'made'
root: ALTER USER made@localhost ATTRIBUTE '[1]'
root: ALTER USER u@localhost ACCOUNT LOCK
u: SELECT 1
root: ALTER USER u@localhost ACCOUNT UNLOCK
u: SELECT 1
root: CREATE USER p@localhost IDENTIFIED BY 'one' PASSWORD EXPIRE
p/one: SELECT 1
p/one!: SELECT 1; DO 1; CREATE TABLE pd.never (a INT); SET PASSWORD = 'two'; SELECT 2
p/two: SELECT 1
root: ALTER USER p@localhost PASSWORD EXPIRE
p/two!: ALTER USER p@localhost IDENTIFIED BY 'three'; SELECT CURRENT_USER()
p/three: SELECT 1
root: ALTER USER p@localhost IDENTIFIED BY '' PASSWORD EXPIRE INTERVAL 3 DAY FAILED_LOGIN_ATTEMPTS 2 PASSWORD_LOCK_TIME 4
root: SHOW CREATE USER p@localhost
root: SELECT password_expired, password_lifetime, User_attributes FROM mysql.user WHERE User = 'p'
p/wrong: SELECT 1
p: SELECT 1
p/wrong: SELECT 1
p/wrong: SELECT 1
p: SELECT 1
root: ALTER USER p@localhost ACCOUNT UNLOCK
p: SELECT 1
p/wrong: SELECT 1
p/wrong: SELECT 1
root: FLUSH PRIVILEGES
p: SELECT 1
root: ALTER USER p@localhost PASSWORD EXPIRE NEVER PASSWORD_LOCK_TIME UNBOUNDED COMMENT 'x'
root: SHOW CREATE USER p@localhost
root: SELECT password_expired, password_lifetime, User_attributes FROM mysql.user WHERE User = 'p'
p/wrong: SELECT 1
p/wrong: SELECT 1
root: ALTER USER p@localhost FAILED_LOGIN_ATTEMPTS 0 PASSWORD EXPIRE DEFAULT
p: SELECT 1
root: ALTER USER p@localhost PASSWORD EXPIRE INTERVAL 0 DAY
root: ALTER USER p@localhost FAILED_LOGIN_ATTEMPTS 40000
root: SET GLOBAL default_password_lifetime = 7
p: SELECT @@default_password_lifetime; ALTER USER p@localhost PASSWORD EXPIRE
root: SET GLOBAL default_password_lifetime = 0
root: DROP USER p@localhost
root: CREATE USER u@localhost, made2@localhost
root: DROP USER nobody, nobody2@localhost
root: ALTER USER nobody IDENTIFIED BY 'x'
root: DROP USER made@localhost
root: GRANT nothing ON *.* TO u@localhost
root: GRANT SELECT ON pd.nonesuch TO u@localhost
root: GRANT SELECT (x) ON pd.t TO u@localhost
root: GRANT PROCESS ON pd.* TO u@localhost
root: GRANT LOCK TABLES ON pd.t TO u@localhost
root: GRANT BACKUP_ADMIN ON pd.* TO u@localhost
root: GRANT SELECT (a) ON *.* TO u@localhost
root: GRANT SELECT (a) ON pd.* TO u@localhost
root: GRANT SELECT ON pd.t TO nobody
root: GRANT SELECT ON information_schema.* TO u@localhost
root: REVOKE SELECT ON pd.t FROM u@localhost
root: REVOKE SELECT ON pd.* FROM u@localhost
root: REVOKE SELECT ON *.* FROM u@localhost
root: REVOKE SELECT ON pd.t FROM nobody
root: REVOKE IF EXISTS SELECT ON pd.* FROM u@localhost
root: REVOKE SELECT ON pd.* FROM nobody IGNORE UNKNOWN USER
root: REVOKE ALL PRIVILEGES, GRANT OPTION FROM nobody
root: GRANT SELECT, UPDATE (a), SELECT (b) ON pd.t TO u@localhost WITH GRANT OPTION
root: SHOW GRANTS FOR u@localhost
root: REVOKE UPDATE ON pd.t FROM u@localhost
root: REVOKE SELECT (b) ON pd.t FROM u@localhost
root: REVOKE SELECT (b) ON pd.t FROM u@localhost
root: SHOW GRANTS FOR u@localhost
root: REVOKE ALL ON pd.t FROM u@localhost
root: REVOKE GRANT OPTION ON pd.t FROM u@localhost
root: SHOW GRANTS FOR u@localhost
root: GRANT ALL ON *.* TO u@localhost WITH GRANT OPTION
root: SHOW GRANTS FOR u@localhost
root: REVOKE SUPER, BACKUP_ADMIN, GRANT OPTION ON *.* FROM u@localhost
root: SHOW GRANTS FOR u@localhost
root: REVOKE ALL ON *.* FROM u@localhost
root: REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost
root: SHOW GRANTS FOR u@localhost
root: SELECT Host, User FROM mysql.user WHERE User = 'root' AND Host = 'localhost' LIMIT 1
u: SELECT Host, User FROM mysql.user WHERE User = 'root' AND Host = 'localhost' LIMIT 1
root: SELECT COUNT(*) FROM mysql.global_grants WHERE USER = 'x'
u: SELECT COUNT(*) FROM mysql.global_grants WHERE USER = 'y'
root: GRANT SELECT (User) ON mysql.user TO u@localhost
u: SELECT authentication_string FROM mysql.user
u: SELECT User FROM mysql.user WHERE User = 'root'
root: CREATE VIEW pd.accounts AS SELECT User, authentication_string AS s FROM mysql.user
root: CREATE SQL SECURITY INVOKER VIEW pd.mine AS SELECT User, authentication_string AS s FROM mysql.user
root: CREATE DEFINER = u@localhost VIEW pd.weakly AS SELECT User, authentication_string AS s FROM mysql.user
root: GRANT SELECT ON pd.* TO u@localhost
u: SELECT User FROM pd.accounts WHERE User = 'root'; SELECT s FROM pd.mine; SELECT s FROM pd.weakly
u: SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_NAME IN ('v', 'weakly') ORDER BY TABLE_NAME
u: SELECT * FROM information_schema.VIEW_TABLE_USAGE WHERE VIEW_NAME = 'v'
u: EXPLAIN SELECT * FROM pd.v
root: REVOKE SELECT (User) ON mysql.user FROM u@localhost
root: DROP VIEW pd.accounts, pd.mine, pd.weakly
u: PREPARE s FROM 'SELECT a FROM pd.u'
u: SELECT * FROM pd.v FOR UPDATE
root: REVOKE SELECT ON pd.* FROM u@localhost
root: GRANT SELECT (a), UPDATE (a) ON pd.t TO u@localhost
u: SELECT a FROM pd.t ORDER BY a FOR UPDATE; PREPARE s FROM 'SELECT b FROM pd.t'; PREPARE s FROM 'UPDATE pd.t SET b = 1'
root: REVOKE ALL ON pd.t FROM u@localhost
root: GRANT SELECT (a) ON pd.t TO u@localhost WITH GRANT OPTION
u: GRANT SELECT (a) ON pd.t TO other@localhost; GRANT SELECT (b) ON pd.t TO other@localhost
root: REVOKE ALL ON pd.t FROM u@localhost
root: REVOKE ALL ON pd.t FROM other@localhost
root: REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost
root: GRANT UPDATE (a) ON pd.t TO u@localhost
root: GRANT CREATE VIEW ON pd.* TO u@localhost
u: CREATE VIEW pd.own AS SELECT a FROM pd.t; SELECT * FROM pd.own
root: DROP VIEW IF EXISTS pd.own
root: REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost
root: GRANT ROLE_ADMIN, SYSTEM_VARIABLES_ADMIN ON *.* TO u@localhost
u: GRANT root@localhost TO u@localhost; GRANT boss TO u@localhost
u: SET GLOBAL mandatory_roles = 'root@localhost'
root: REVOKE boss FROM u@localhost
root: REVOKE ROLE_ADMIN ON *.* FROM u@localhost
u: SET GLOBAL mandatory_roles = 'boss'
root: SET GLOBAL mandatory_roles = 'root@localhost'
root: SET GLOBAL mandatory_roles = 'boss'
root: DROP ROLE boss
root: DROP USER boss
root: REVOKE boss FROM u@localhost
root: SET GLOBAL mandatory_roles = ''
root: REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost
root: GRANT ALL ON `_`.* TO u@localhost WITH GRANT OPTION
root: GRANT ALL ON `at\\_p`.* TO u@localhost WITH GRANT OPTION
root: GRANT ALL ON `ab_`.* TO u@localhost WITH GRANT OPTION
root: GRANT ALL ON `x%`.* TO u@localhost WITH GRANT OPTION
u: GRANT SELECT ON `%`.* TO other@localhost; GRANT SELECT ON `at_p`.* TO other@localhost; GRANT SELECT ON `ab%`.* TO other@localhost
u: GRANT SELECT ON `_`.* TO other@localhost; GRANT SELECT ON `abc`.* TO other@localhost; GRANT SELECT ON `xy`.* TO other@localhost
u: GRANT SELECT ON `at\\_p`.* TO other@localhost; GRANT SELECT ON `y%`.* TO other@localhost; GRANT SELECT ON `xy%`.* TO other@localhost
root: SHOW GRANTS FOR other@localhost
root: REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost, other@localhost
root: CREATE USER one@localhost COMMENT '1', two@localhost COMMENT '2'
root: RENAME USER one@localhost TO three@localhost, three@localhost TO one@localhost
root: SELECT USER, ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER IN ('one', 'two', 'three') ORDER BY 1
root: RENAME USER one@localhost TO three@localhost, two@localhost TO one@localhost, three@localhost TO two@localhost
root: SELECT USER, ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER IN ('one', 'two', 'three') ORDER BY 1
root: DROP USER one@localhost, one@localhost
root: DROP USER one@localhost, two@localhost
root: CREATE USER one@localhost, one@localhost
root: CREATE USER one@localhost DEFAULT ROLE reader
root: SHOW GRANTS FOR one@localhost
root: CREATE USER two@localhost DEFAULT ROLE nobody
root: DROP USER one@localhost
root: GRANT SELECT ON ``.* TO u@localhost
root: GRANT SELECT ON `pd `.* TO u@localhost
root: GRANT CREATE ON pd.`x ` TO u@localhost
u: SET sql_require_primary_key = OFF; SET SESSION pseudo_thread_id = 1; SHOW TABLES FROM mysql; SHOW CREATE DATABASE mysql
u: CREATE DEFINER = nobody@localhost VIEW pd.absent AS SELECT 1 AS a
root: GRANT CREATE VIEW, SET_ANY_DEFINER ON *.* TO u@localhost
u: CREATE DEFINER = nobody@localhost VIEW pd.absent AS SELECT 1 AS a
root: CREATE USER b@'local\\\\host'
root: SELECT Host FROM mysql.user WHERE User = 'b'
root: DROP USER b@'local\\\\host'
"""

# What an error says beside its code differs for these reasons:
MESSAGES_DIFFER = (
    # MySQL asks for UPDATE on mysql.user in the one place where it does.
    "SET PASSWORD FOR",
    # Of several columns that are denied MySQL names another one.
    "UPDATE pd.t SET b = c",
    # MySQL names the tables of mysql that it would read or write.
    "SHOW CREATE USER", "SET DEFAULT ROLE",
)
# The code differs, too:
CODES_DIFFER = {
    # MySQL asks for UPDATE on mysql: its SET PASSWORD is older than CREATE USER.
    "SET PASSWORD FOR other@localhost = ''": {(1044, 1227), (1044, 0)},
    # Of all columns MySQL names the table or one of them, as it happens.
    **{sql: {(1142, 1143), (1143, 1142)} for sql in (
        "INSERT INTO pd.t VALUES (7, 7, 7)", "INSERT INTO pd.t () VALUES ()",
        "SELECT * FROM pd.t ORDER BY a", "SELECT * FROM pd.v ORDER BY a",
        "SELECT * FROM pd.vv ORDER BY 1", "REPLACE INTO pd.t VALUES (1, 7, 7)")},
    # With an invoker's view MySQL looks at what it is made of first.
    "SELECT * FROM pd.w ORDER BY a": {(1356, 1143), (1356, 1142)},
    # In MySQL UPDATE on mysql is enough to grant dynamic privileges, and no others.
    "GRANT BACKUP_ADMIN ON *.* TO other@localhost": {(0, 1227)},
    # MySQL asks for the privilege only if there is something to be forgotten.
    "RESET PERSIST IF EXISTS max_error_count": {(0, 1227)},
}
READS = ("SELECT", "SHOW", "EXPLAIN", "DO", "USE", "WITH", "SET @", "CHECK", "XA")


def parse():
    """The statements, each with its grants as (privilege, column, level)."""
    for line in STATEMENTS.strip().split("\n"):
        sql, _, needs = line.partition("|")
        grants = []
        for need in filter(None, (part.strip() for part in needs.split(","))):
            privilege, _, level = need.partition("@")
            grants.append((privilege.replace("(", " ("), level))
        yield sql.strip(), grants


class Server:
    """One of the two, with a connection of root's."""

    def __init__(self, name, connect):
        self.name, self.connect = name, connect
        self.root = connect("root")
        self.make(OBJECTS + ACCOUNTS)

    def make(self, statements):
        """Runs statements as root."""
        with self.root.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)

    def grant(self, grants, to):
        """Gives privileges to an account or a role; what MySQL says no to is an error of the test."""
        with self.root.cursor() as cursor:
            for privilege, level in grants:
                cursor.execute(f"GRANT {privilege} ON {level} TO {to}")

    def run(self, sql):
        """What comes of a statement of the account's: rows, or a code and a message."""
        with contextlib.closing(self.connect("u")) as connection, connection.cursor() as cursor:
            try:
                cursor.execute(sql)
                rows = [tuple(str(value) for value in row) for row in cursor.fetchall()]
                return 0, rows
            except pymysql.MySQLError as error:
                return error.args[0], error.args[1]

    def tell(self, user, statements):
        """What comes of each of some statements in one connection, with warnings."""
        told = []
        try:
            name, _, password = user.partition("/")
            # ! says that it can set a new password in the place of one that has expired.
            flags = 1 << 22 if password.endswith("!") else 0
            connection = self.connect(name, password=password.rstrip("!"), client_flag=flags)
        except pymysql.MySQLError as error:
            return [error.args]
        with contextlib.closing(connection), connection.cursor() as cursor:
            for sql in (part for statement in statements for part in (statement, "SHOW WARNINGS")):
                try:
                    cursor.execute(sql)
                    told.append([tuple(str(value) for value in row) for row in cursor.fetchall()])
                except pymysql.MySQLError as error:
                    told.append(error.args)
        return told

    def reset(self, changed):
        """As it was before."""
        with self.root.cursor() as cursor:
            cursor.execute("UNLOCK TABLES")
        if changed:
            self.make(["DROP ROLE IF EXISTS n"] + OBJECTS + ACCOUNTS)
        else:
            self.make(["REVOKE ALL PRIVILEGES, GRANT OPTION FROM u@localhost",
                       "REVOKE ALL PRIVILEGES, GRANT OPTION FROM r", "REVOKE r FROM u@localhost"])


def comparable(sql, result):
    """Without what differs for a reason that has nothing to do with privileges."""
    code, told = result
    if code == 0:
        if sql.startswith(("EXPLAIN", "SHOW ENGINE", "SHOW BINARY", "SHOW INDEX", "CHECKSUM")):
            return code, "rows"
        if sql.startswith("SHOW CREATE TABLE"):
            return code, len(told)
        return code, told
    return code, told


def compare(sql, grants, results, differences):
    """Notes that the two servers answer differently."""
    one, other = (comparable(sql, result) for result in results)
    if one == other or (one[0], other[0]) in CODES_DIFFER.get(sql, ()):
        return
    if one[0] == other[0] != 0 and sql.startswith(MESSAGES_DIFFER):
        return
    # What Cohort does not have it says so, and is not asked here.
    differences.append((sql, grants, one, other))
    print(f"differs: {sql}\n  granted {grants}\n  MySQL  {one}\n  Cohort {other}", flush=True)


def case(servers, sql, grants, differences, through_role=False):
    """Runs a statement with these grants on both."""
    results = []
    for server in servers:
        try:
            if through_role:
                server.grant(grants, "r")
                server.make(["GRANT r TO u@localhost", "SET DEFAULT ROLE r TO u@localhost"])
            else:
                server.grant(grants, "u@localhost")
        except pymysql.MySQLError as error:
            raise AssertionError((server.name, sql, grants, error)) from error
        results.append(server.run(sql))
    compare(sql, grants, results, differences)
    changed = any(code == 0 for code, _ in results) and not sql.startswith(READS)
    for server in servers:
        server.reset(changed or through_role)


PRIVILEGES = ("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER",
              "CREATE VIEW", "SHOW VIEW")
OF_DATABASES = (*PRIVILEGES, "CREATE TEMPORARY TABLES", "LOCK TABLES", "EXECUTE")
OF_ALL = (*OF_DATABASES, "PROCESS", "RELOAD", "SHOW DATABASES", "CREATE USER")
OF_COLUMNS = ("SELECT", "INSERT", "UPDATE", "REFERENCES")


def chosen(rng):
    """Random grants."""
    grants = []
    for _ in range(rng.choice((0, 1, 1, 2, 3, 4, 6))):
        kind = rng.random()
        if kind < 0.08:
            grants.append((rng.choice(OF_ALL), "*.*"))
        elif kind < 0.25:
            pattern = rng.choice(("pd", "p_d", "`p\\_d`", "`p%`", "`%d`", "nonesuch", "made"))
            grants.append((rng.choice(OF_DATABASES), f"{pattern if '`' in pattern else f'`{pattern}`'}.*"))
        elif kind < 0.55:
            grants.append((rng.choice(PRIVILEGES), f"pd.{rng.choice('tuvw')}"))
        else:
            table = rng.choice("ttuvw")
            columns = {"t": "abc", "u": "ab", "v": "ax", "w": "ab"}[table]
            some = rng.sample(columns, rng.randrange(1, len(columns) + 1))
            grants.append((f"{rng.choice(OF_COLUMNS)} ({', '.join(some)})", f"pd.{table}"))
    return grants


def story(servers, differences):
    """One thing after another: what each gives must be the same on both. Each line of the account's
    is a connection of its own."""
    for line in STORY.strip().split("\n"):
        who, _, sql = line.partition(": ")
        told = []
        for server in servers:
            told.append(server.tell(who, sql.split("; ")))
        if told[0] != told[1]:
            differences.append((line, told))
            print(f"differs: {line}\n  MySQL  {told[0]}\n  Cohort {told[1]}", flush=True)


def races(server):
    """Account statements of many sessions at once: none undoes another's."""
    def run(statements):
        with contextlib.closing(server.connect("root")) as connection, connection.cursor() as cursor:
            for sql in statements:
                with contextlib.suppress(pymysql.MySQLError):
                    cursor.execute(sql)
    with server.root.cursor() as cursor:
        cursor.execute("CREATE USER raced@localhost")
        for number in range(10):
            threads = [threading.Thread(target=run, args=([
                f"GRANT SELECT ON raced{number}.* TO raced@localhost" if odd else
                f"GRANT CREATE ON raced{number}.t{one} TO raced@localhost"
                for odd in (False, True)],)) for one in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            cursor.execute("SELECT COUNT(*) FROM mysql.tables_priv WHERE User = 'raced'")
            assert cursor.fetchone()[0] == 8 * (number + 1), number
        threads = [threading.Thread(target=run, args=([f"GRANT {a} TO {b}"],))
                   for a, b in (("x1", "x2"), ("x2", "x1"))]
        cursor.execute("CREATE ROLE x1, x2")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cursor.execute("SELECT COUNT(*) FROM mysql.role_edges WHERE FROM_USER IN ('x1', 'x2')")
        assert cursor.fetchone()[0] == 1
        cursor.execute("DROP USER raced@localhost, x1, x2")


# What a server knows of its accounts, without times.
KNOWN = (
    "SELECT user, host, plugin, authentication_string, ssl_type, password_expired, password_lifetime, "
    "account_locked, User_attributes FROM mysql.user ORDER BY 1, 2",
    "SELECT * FROM mysql.db ORDER BY 1, 2, 3",
    "SELECT Host, Db, User, Table_name, Table_priv, Column_priv FROM mysql.tables_priv ORDER BY 1, 2, 3, 4",
    "SELECT Host, Db, User, Table_name, Column_name, Column_priv FROM mysql.columns_priv ORDER BY 1, 2, 3, 4, 5",
    "SELECT * FROM mysql.role_edges ORDER BY 1, 2, 3, 4",
    "SELECT * FROM mysql.default_roles ORDER BY 1, 2, 3, 4",
    "SELECT * FROM mysql.global_grants ORDER BY 1, 2, 3",
    "SELECT user, host, Select_priv, Grant_priv, Super_priv FROM mysql.user ORDER BY 1, 2",
)


def replay(server):
    """The statements in the log make the same accounts on another server."""
    name = r"""'it''s \\ "q"'@'10.%'"""
    odd = (rf"""CREATE USER {name} IDENTIFIED BY 'p' COMMENT 'a''b\\c\nd'""",
           "CREATE USER n@localhost IDENTIFIED WITH mysql_native_password BY 'x' "
           "REQUIRE SUBJECT '/CN=a''b' AND ISSUER 'c'",
           "GRANT SELECT (`a`), INSERT ON pd.t TO n@localhost WITH GRANT OPTION",
           r"GRANT ALL ON `p\_%`.* TO n@localhost",
           "CREATE ROLE rr", "GRANT rr TO n@localhost WITH ADMIN OPTION",
           "SET DEFAULT ROLE ALL TO n@localhost",
           "ALTER USER n@localhost FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED "
           "PASSWORD EXPIRE NEVER",
           "CREATE USER m@localhost DEFAULT ROLE rr", "RENAME USER m@localhost TO o@localhost",
           "GRANT ALL ON *.* TO o@localhost WITH GRANT OPTION",
           "REVOKE SUPER, DELETE ON *.* FROM o@localhost")
    server.make(odd)
    statements = []
    with server.root.cursor() as cursor:
        cursor.execute("SHOW BINARY LOGS")
        for file, *_ in cursor.fetchall():
            cursor.execute(f"SHOW BINLOG EVENTS IN '{file}'")
            statements += [row[5] for row in cursor.fetchall() if row[2] == "Query"]
    with Cohort() as other, contextlib.closing(pymysql.connect(
            host="127.0.0.1", port=other.port, user="root", autocommit=True)) as root:
        cursor = root.cursor()
        for sql in statements:
            # Rows are not what this is about.
            if sql != "BEGIN":
                database, found, statement = sql.partition("; ") if sql.startswith("use ") else ("", "", sql)
                if found:
                    cursor.execute(database)
                cursor.execute(statement)
        for sql in KNOWN:
            told = []
            for asked in (server.root.cursor(), cursor):
                asked.execute(sql)
                told.append(asked.fetchall())
            assert told[0] == told[1], (sql, told)
    server.make([f"DROP USER n@localhost, o@localhost, {name}", "DROP ROLE rr"])
    print(f"privileges: {len(statements)} statements of the log make the same accounts", flush=True)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    seed = seed_of(2)
    rng = random.Random(seed)
    print(f"privileges: seed {seed}", flush=True)
    with contextlib.ExitStack() as stack:
        room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privileges-")))
        peer = Source(MySQL(room, PEERS), room, free_port())
        stack.callback(peer.end)
        cohort = stack.enter_context(Cohort())
        servers = [
            Server("mysql", lambda user, **more: pymysql.connect(
                host="127.0.0.1", port=peer.port, user=user, autocommit=True, **more)),
            Server("cohort", lambda user, **more: pymysql.connect(
                host="127.0.0.1", port=cohort.port, user=user, autocommit=True, **more)),
        ]
        differences, count = [], 0
        races(servers[1])
        story(servers, differences)
        replay(servers[1])
        for server in servers:
            server.make(["DROP ROLE reader, boss", *OBJECTS, *ACCOUNTS])
        known = list(parse())
        for sql, grants in known:
            cases = [[], grants, *(grants[:at] + grants[at + 1:] for at in range(len(grants)))]
            for some in cases if grants else cases[:1]:
                case(servers, sql, some, differences)
                count += 1
            if grants and not any("GRANT OPTION" in privilege for privilege, _ in grants):
                case(servers, sql, grants, differences, through_role=True)
                count += 1
        print(f"privileges: {count} cases of {len(known)} statements", flush=True)
        for number in range(rounds):
            case(servers, rng.choice(known)[0], chosen(rng), differences,
                 through_role=rng.random() < 0.2)
        assert not differences, f"{len(differences)} differ"
    print(f"privileges: {count + rounds} cases are allowed, and refused, as by MySQL", flush=True)


if __name__ == "__main__":
    main()
