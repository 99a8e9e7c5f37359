#!/usr/bin/env python3
"""Passwords that may not come again, second passwords, limits of accounts and partial revokes are as
in MySQL 9.7: the same statements and logins have the same outcome on both. What Cohort knows of its
accounts survives kill -9; a Cohort that replicates from MySQL, one that replicates from Cohort, and
a MySQL that replicates from Cohort know the same as their sources.

  .ci/clients/passwords.py

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import json
import pathlib
import re
import signal
import tempfile
import time

import pymysql

from cohort import Cohort, free_port
from privileges import Server
from replicas import PEERS
from sources import MySQL, Source, ask, executed, follow, status

# One thing after another: who says it, and what. Each line is a connection of its own.
STORY = """
root: CREATE DATABASE hr; CREATE DATABASE it; CREATE TABLE hr.t (a INT); CREATE TABLE it.t (a INT); CREATE TABLE it.u (a INT)
root: SELECT @@password_history, @@password_reuse_interval, @@password_require_current, @@partial_revokes
root: CREATE USER a@localhost IDENTIFIED BY 'one' PASSWORD HISTORY 2 PASSWORD REUSE INTERVAL 3 DAY
root: SHOW CREATE USER a@localhost
root: SELECT Password_reuse_history, Password_reuse_time, Password_require_current, User_attributes FROM mysql.user WHERE User = 'a'
root: ALTER USER a@localhost IDENTIFIED BY 'one'; ALTER USER a@localhost IDENTIFIED BY ''
root: ALTER USER a@localhost IDENTIFIED BY 'two'; ALTER USER a@localhost IDENTIFIED BY 'three'
root: ALTER USER a@localhost IDENTIFIED BY 'one'; SET PASSWORD FOR a@localhost = 'one'
root: ALTER USER a@localhost PASSWORD REUSE INTERVAL 0 DAY; SELECT COUNT(*) FROM mysql.password_history
root: ALTER USER a@localhost IDENTIFIED BY 'four'; SELECT COUNT(*) FROM mysql.password_history
root: ALTER USER a@localhost IDENTIFIED BY 'two'; ALTER USER a@localhost IDENTIFIED BY 'four'
root: ALTER USER a@localhost IDENTIFIED BY 'two' REPLACE 'x'; ALTER USER a@localhost IDENTIFIED BY 'nine' REPLACE 'x'; SET PASSWORD FOR a@localhost = 'nine' REPLACE 'x'
root: ALTER USER a@localhost PASSWORD HISTORY 0; SELECT COUNT(*) FROM mysql.password_history; ALTER USER a@localhost IDENTIFIED BY 'four'; SELECT COUNT(*) FROM mysql.password_history
root: ALTER USER a@localhost PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT; SHOW CREATE USER a@localhost
a/four: ALTER USER a@localhost IDENTIFIED BY 'five'; ALTER USER a@localhost IDENTIFIED BY 'five' REPLACE 'nine'; ALTER USER a@localhost IDENTIFIED BY 'five' REPLACE 'four'
a/four: SELECT 1
a/five: SET PASSWORD = 'six'; SET PASSWORD = 'six' REPLACE 'nine'; SET PASSWORD = 'six' REPLACE 'five'; SET PASSWORD FOR a@localhost = 'seven' REPLACE 'six'
a/seven: ALTER USER USER() IDENTIFIED BY 'five' REPLACE 'seven'; ALTER USER CURRENT_USER() IDENTIFIED BY 'six'; ALTER USER USER() IDENTIFIED BY RANDOM PASSWORD; ALTER USER USER() IDENTIFIED BY ''
a/five: ALTER USER USER() IDENTIFIED WITH caching_sha2_password BY 'x'; ALTER USER a@localhost IDENTIFIED WITH caching_sha2_password; ALTER USER a@localhost IDENTIFIED WITH caching_sha2_password AS ''
root: ALTER USER a@localhost IDENTIFIED BY 'four' PASSWORD REQUIRE CURRENT OPTIONAL; SHOW CREATE USER a@localhost; SELECT Password_require_current FROM mysql.user WHERE User = 'a'
a/four: ALTER USER a@localhost IDENTIFIED BY 'five' REPLACE 'nine'; ALTER USER a@localhost IDENTIFIED BY 'four'
root: ALTER USER a@localhost PASSWORD REQUIRE CURRENT DEFAULT
root: SET GLOBAL password_require_current = ON
a/four: ALTER USER a@localhost IDENTIFIED BY 'five'; ALTER USER a@localhost IDENTIFIED BY 'four' REPLACE 'four'
root: ALTER USER CURRENT_USER() IDENTIFIED BY '' REPLACE 'x'; GRANT CREATE USER ON *.* TO a@localhost
a/four: ALTER USER a@localhost IDENTIFIED BY 'five'; SET PASSWORD = 'four'; SET PASSWORD = 'five' REPLACE 'x'
root: REVOKE CREATE USER ON *.* FROM a@localhost; SET GLOBAL password_require_current = DEFAULT
root: CREATE USER b@localhost IDENTIFIED BY 'x' REPLACE 'y'; ALTER USER a@localhost REPLACE 'four'; ALTER USER a@localhost PASSWORD HISTORY -1
root: ALTER USER a@localhost PASSWORD REUSE INTERVAL 2; CREATE USER b@localhost IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD
root: SET GLOBAL password_history = 1; CREATE USER b@localhost IDENTIFIED BY 'one', c@localhost
root: ALTER USER b@localhost IDENTIFIED BY 'one'; ALTER USER c@localhost IDENTIFIED BY ''; SELECT User FROM mysql.password_history
root: ALTER USER b@localhost IDENTIFIED WITH caching_sha2_password AS '$A$005$12345678901234567890abcdefghijabcdefghijabcdefghijabcdefghij123'; ALTER USER b@localhost IDENTIFIED WITH caching_sha2_password BY 'one'; ALTER USER b@localhost IDENTIFIED WITH caching_sha2_password
root: SELECT User FROM mysql.password_history; SET SESSION password_history = 1; SET GLOBAL password_history = DEFAULT
root: SET GLOBAL password_reuse_interval = 1; ALTER USER b@localhost IDENTIFIED BY 'q1'; ALTER USER b@localhost IDENTIFIED BY 'q2'; ALTER USER b@localhost IDENTIFIED BY 'q1'; SELECT User FROM mysql.password_history
root: SET timestamp = 1000; ALTER USER b@localhost IDENTIFIED BY 'q3'; SET timestamp = DEFAULT; SELECT UNIX_TIMESTAMP(Password_timestamp) FROM mysql.password_history ORDER BY 1 LIMIT 1
root: SET GLOBAL password_reuse_interval = DEFAULT; RENAME USER b@localhost TO d@localhost; SELECT DISTINCT User FROM mysql.password_history; ALTER USER d@localhost IDENTIFIED BY 'q1'; SELECT COUNT(*) FROM mysql.password_history
root: ALTER USER d@localhost PASSWORD HISTORY 3; ALTER USER d@localhost IDENTIFIED BY 'q4'; SELECT COUNT(*) FROM mysql.password_history; DROP USER d@localhost; SELECT COUNT(*) FROM mysql.password_history
root: ALTER USER a@localhost IDENTIFIED BY 'two' RETAIN CURRENT PASSWORD; SHOW CREATE USER a@localhost; SELECT User_attributes FROM mysql.user WHERE User = 'a'; SELECT ATTRIBUTE FROM information_schema.USER_ATTRIBUTES WHERE USER = 'a'
a/four: SELECT CURRENT_USER()
a/two: SELECT CURRENT_USER()
root: ALTER USER a@localhost IDENTIFIED BY 'three'
a/four: SELECT CURRENT_USER()
a/two: SELECT CURRENT_USER()
a/three: SELECT CURRENT_USER()
root: ALTER USER a@localhost IDENTIFIED BY 'five' RETAIN CURRENT PASSWORD
a/four: SELECT CURRENT_USER()
a/three: SELECT CURRENT_USER()
root: ALTER USER a@localhost DISCARD OLD PASSWORD; SELECT User_attributes FROM mysql.user WHERE User = 'a'; ALTER USER a@localhost DISCARD OLD PASSWORD
a/three: SELECT CURRENT_USER()
root: SET PASSWORD FOR a@localhost = 'six' RETAIN CURRENT PASSWORD
a/five: ALTER USER a@localhost IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD; SET PASSWORD = 'x' RETAIN CURRENT PASSWORD; ALTER USER a@localhost DISCARD OLD PASSWORD; ALTER USER USER() DISCARD OLD PASSWORD
root: GRANT APPLICATION_PASSWORD_ADMIN ON *.* TO a@localhost
a/five: ALTER USER USER() IDENTIFIED BY 'seven' RETAIN CURRENT PASSWORD; SET PASSWORD = 'eight' REPLACE 'six' RETAIN CURRENT PASSWORD; SET PASSWORD = 'eight' REPLACE 'seven' RETAIN CURRENT PASSWORD
a/seven: SELECT CURRENT_USER()
a/eight: ALTER USER USER() DISCARD OLD PASSWORD; ALTER USER c@localhost IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD
a/seven: SELECT CURRENT_USER()
root: ALTER USER a@localhost IDENTIFIED BY '' RETAIN CURRENT PASSWORD; ALTER USER c@localhost IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD; ALTER USER nobody IDENTIFIED BY 'x' RETAIN CURRENT PASSWORD; ALTER USER IF EXISTS nobody DISCARD OLD PASSWORD
root: ALTER USER a@localhost IDENTIFIED BY 'nine' RETAIN CURRENT PASSWORD WITH MAX_USER_CONNECTIONS 7 PASSWORD HISTORY 5 COMMENT 'c'; ALTER USER a@localhost FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME 2; SELECT User_attributes FROM mysql.user WHERE User = 'a'
root: ALTER USER a@localhost IDENTIFIED BY 'ten', a@localhost IDENTIFIED BY 'ten'; ALTER USER a@localhost PASSWORD REQUIRE CURRENT WITH MAX_USER_CONNECTIONS 3; ALTER USER a@localhost WITH; ALTER USER a@localhost WITH MAX_QUERIES_PER_HOUR -1
root: CREATE USER l@localhost WITH MAX_QUERIES_PER_HOUR 9 MAX_UPDATES_PER_HOUR 1 MAX_CONNECTIONS_PER_HOUR 4
root: SHOW CREATE USER l@localhost; SELECT max_questions, max_updates, max_connections, max_user_connections FROM mysql.user WHERE User = 'l'
l: SELECT 1; CREATE DATABASE nonesuch; SELECT 1; CREATE DATABASE nonesuch; SELECT 1
l: SELECT 1
l/wrong: SELECT 1
root: ALTER USER l@localhost WITH MAX_QUERIES_PER_HOUR 0
l: SELECT 1; TRUNCATE it.t; SET PASSWORD = ''; SELECT 1
l: LOCK TABLES it.t READ; SELECT * FROM it.t FOR UPDATE; SELECT * FROM nonesuch.t; SELECT 1
l: SELECT 1
l: SELECT 1
l: SELECT 1
root: FLUSH USER_RESOURCES
l: SET PASSWORD = ''; SET PASSWORD = ''
root: ALTER USER l@localhost COMMENT 'the same hour'
l: SET PASSWORD = ''
root: FLUSH PRIVILEGES; ALTER USER l@localhost WITH MAX_USER_CONNECTIONS 9 MAX_CONNECTIONS_PER_HOUR 0
l: SET PASSWORD = ''; SET PASSWORD = ''; SELECT @@max_user_connections, @@global.max_user_connections; SET SESSION max_user_connections = 1; SET max_user_connections = 1; FLUSH USER_RESOURCES
root: GRANT FLUSH_USER_RESOURCES ON *.* TO l@localhost
l: FLUSH USER_RESOURCES
root: ALTER USER l@localhost WITH MAX_QUERIES_PER_HOUR 1 MAX_QUERIES_PER_HOUR 4294967295 MAX_UPDATES_PER_HOUR 0; SHOW CREATE USER l@localhost; GRANT SELECT ON it.t TO l@localhost WITH MAX_QUERIES_PER_HOUR 2
root: ALTER USER l@localhost WITH MAX_QUERIES_PER_HOUR 1 REQUIRE SSL; ALTER USER l@localhost ACCOUNT LOCK WITH MAX_QUERIES_PER_HOUR 1; ALTER USER l@localhost REQUIRE NONE WITH MAX_QUERIES_PER_HOUR 0 ACCOUNT UNLOCK
root: CREATE USER p@localhost, q@localhost; GRANT SELECT, INSERT, UPDATE ON *.* TO p@localhost; REVOKE SELECT ON hr.* FROM p@localhost; SET GLOBAL partial_revokes = ON; REVOKE SELECT ON hr.* FROM p@localhost
root: SHOW GRANTS FOR p@localhost; SELECT User_attributes FROM mysql.user WHERE User = 'p'; SHOW CREATE USER p@localhost
p: SELECT * FROM hr.t; SELECT * FROM it.t; INSERT INTO hr.t VALUES (1); SELECT a FROM hr.t; UPDATE hr.t SET a = a; UPDATE it.t SET a = a
root: REVOKE INSERT, UPDATE ON hr.* FROM p@localhost; REVOKE DELETE ON hr.* FROM p@localhost; REVOKE DELETE, SELECT ON it.* FROM p@localhost; REVOKE ALL ON it.* FROM p@localhost; SHOW GRANTS FOR p@localhost
p: USE hr; SHOW DATABASES LIKE 'h%'; SHOW TABLES FROM hr; SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = 'hr'; SHOW CREATE TABLE hr.t; INSERT INTO hr.t VALUES (1)
root: SET GLOBAL partial_revokes = OFF; SET GLOBAL partial_revokes = DEFAULT; SET PERSIST partial_revokes = OFF; SELECT * FROM performance_schema.persisted_variables; SET PERSIST_ONLY partial_revokes = OFF; RESET PERSIST partial_revokes
root: GRANT SELECT ON hr.* TO p@localhost; SHOW GRANTS FOR p@localhost; GRANT ALL ON hr.* TO p@localhost; SHOW GRANTS FOR p@localhost; SELECT * FROM mysql.db WHERE User = 'p'
root: REVOKE SELECT ON hr.* FROM p@localhost; SHOW GRANTS FOR p@localhost; REVOKE SELECT ON hr.* FROM p@localhost; SHOW GRANTS FOR p@localhost
root: GRANT SELECT ON hr.t TO p@localhost
p: SELECT * FROM hr.t
root: REVOKE SELECT ON hr.t FROM p@localhost; REVOKE SELECT ON it.t FROM p@localhost; GRANT SELECT ON *.* TO p@localhost; SHOW GRANTS FOR p@localhost; REVOKE SELECT ON *.* FROM p@localhost; SHOW GRANTS FOR p@localhost
root: REVOKE ALL ON *.* FROM p@localhost; SHOW GRANTS FOR p@localhost; GRANT ALL ON *.* TO p@localhost WITH GRANT OPTION; REVOKE ALL ON hr.* FROM p@localhost; SHOW GRANTS FOR p@localhost; SELECT User_attributes FROM mysql.user WHERE User = 'p'
p: GRANT SELECT ON *.* TO q@localhost; GRANT SELECT ON hr.* TO q@localhost; GRANT SELECT ON hr.t TO q@localhost; REVOKE INSERT ON it.* FROM q@localhost; REVOKE SELECT ON it.* FROM q@localhost; REVOKE SELECT ON hr.* FROM q@localhost; GRANT SELECT ON hr.* TO p@localhost
root: SHOW GRANTS FOR q@localhost; REVOKE SELECT ON `h%`.* FROM q@localhost; REVOKE SELECT ON nonesuch.* FROM q@localhost; SHOW GRANTS FOR q@localhost; REVOKE SELECT ON information_schema.* FROM q@localhost
root: REVOKE SELECT ON mysql.* FROM q@localhost; REVOKE SELECT ON performance_schema.* FROM q@localhost
q: SELECT * FROM mysql.user; SELECT * FROM performance_schema.threads; SELECT COUNT(*) > 0 FROM performance_schema.global_variables; SHOW GRANTS FOR p@localhost
root: SELECT * FROM information_schema.USER_PRIVILEGES WHERE GRANTEE LIKE '''q''%'; SELECT * FROM information_schema.SCHEMA_PRIVILEGES WHERE GRANTEE LIKE '''q''%'; GRANT SELECT ON *.* TO q@localhost; SHOW GRANTS FOR q@localhost
root: CREATE ROLE r; GRANT INSERT, SELECT ON *.* TO r; REVOKE INSERT ON hr.* FROM r; REVOKE SELECT ON hr.* FROM q@localhost; GRANT r TO q@localhost
q: SELECT * FROM hr.t; SET ROLE r; SHOW GRANTS; INSERT INTO hr.t VALUES (2); SELECT COUNT(*) FROM hr.t; SELECT COUNT(*) FROM it.t
root: SHOW GRANTS FOR q@localhost USING r; DROP ROLE r
root: CREATE DATABASE `p_q`; CREATE DATABASE pxq; GRANT SELECT ON `p_q`.* TO c@localhost; GRANT SELECT ON `h%`.* TO c@localhost; GRANT SELECT ON `i\\_`.* TO c@localhost
c: USE p_q; USE pxq; USE hr; USE it
root: GRANT SELECT ON *.* TO c@localhost AS p@localhost; SHOW GRANTS FOR c@localhost; GRANT SELECT ON *.* TO c@localhost AS q@localhost WITH ROLE NONE; SHOW GRANTS FOR c@localhost
root: GRANT SELECT ON hr.* TO c@localhost AS p@localhost
p: GRANT SELECT ON *.* TO c@localhost AS root@localhost; GRANT SELECT ON *.* TO c@localhost AS a@localhost
root: GRANT CREATE ON *.* TO q@localhost; REVOKE CREATE ON made.* FROM q@localhost; REVOKE PROCESS ON hr.* FROM q@localhost; REVOKE CREATE ON hr.t FROM q@localhost
q: CREATE DATABASE made; CREATE TABLE made.t (a INT)
root: GRANT SELECT (a) ON hr.t TO q@localhost
q: SELECT a FROM hr.t WHERE a = 7; SELECT * FROM it.u
root: CREATE DEFINER = q@localhost VIEW it.seen AS SELECT a FROM hr.t; REVOKE SELECT (a) ON hr.t FROM q@localhost; SELECT * FROM it.seen; DROP VIEW it.seen
root: SET SESSION partial_revokes = OFF; SELECT @@session.partial_revokes; REVOKE SELECT ON it.t FROM nobody; REVOKE IF EXISTS DELETE ON hr.* FROM q@localhost
root: CREATE USER e@localhost, f@localhost; GRANT CREATE USER ON *.* TO e@localhost; GRANT SELECT ON *.* TO f@localhost WITH GRANT OPTION; GRANT SELECT ON it.* TO f@localhost; GRANT SELECT ON it.t TO f@localhost
f: REVOKE ALL ON *.* FROM e@localhost
e: REVOKE SELECT ON *.* FROM f@localhost; REVOKE ALL ON mysql.* FROM f@localhost; REVOKE ALL ON *.* FROM nobody; GRANT ALL ON *.* TO f@localhost; REVOKE ALL ON *.* FROM p@localhost; REVOKE ALL ON *.* FROM f@localhost
root: SHOW GRANTS FOR f@localhost; GRANT SELECT ON it.* TO f@localhost; REVOKE INSERT ON it.* FROM f@localhost; REVOKE INSERT, SELECT ON it.* FROM f@localhost; SHOW GRANTS FOR f@localhost; REVOKE ALL ON it.* FROM f@localhost
root: LOCK TABLES it.t WRITE; GRANT SELECT ON it.t TO f@localhost; CREATE USER g@localhost; ALTER USER f@localhost ACCOUNT LOCK; SET PASSWORD FOR f@localhost = 'x'; DROP USER f@localhost; SET DEFAULT ROLE ALL TO f@localhost; REVOKE ALL, GRANT OPTION FROM f@localhost; SET ROLE NONE; UNLOCK TABLES
root: SELECT IF(COUNT(*) = 4, 'as they were', 'changed') FROM mysql.user WHERE User IN ('a', 'c', 'f', 'g', 'p')
"""

# What a server knows of its accounts.
KNOWN = (
    "SELECT User, plugin, authentication_string, max_questions, max_updates, max_connections, "
    "max_user_connections, Password_reuse_history, Password_reuse_time, Password_require_current, "
    "User_attributes FROM mysql.user WHERE Host = 'localhost' AND User NOT LIKE 'mysql.%' ORDER BY 1",
    "SELECT * FROM mysql.password_history ORDER BY 1, 2, 3",
    "SELECT * FROM mysql.db WHERE Host = 'localhost' AND User NOT LIKE 'mysql.%' ORDER BY 1, 2, 3",
    "SELECT User, Select_priv, Create_priv, Grant_priv FROM mysql.user WHERE Host = 'localhost' "
    "AND User NOT LIKE 'mysql.%' ORDER BY 1",
)
# A salt is 20 characters, any of them (a quote and a comma too, escaped where that is the way); the
# hash behind it is always 43 of these, and a quote follows.
HASH = re.compile(r"\$A\$00[0-9A-F]\$.{20,160}?[./0-9A-Za-z]{43}(?=\\?['\"])", re.DOTALL)


def comparable(told):
    """Without salts."""
    return HASH.sub("<hash>", str(told).replace("\\'", "'").replace('("', "('").replace('",)', "',)"))


def story(servers):
    """What each line gives must be the same on both."""
    differences = 0
    for line in STORY.strip().split("\n"):
        who, _, sql = line.partition(": ")
        one, other = (comparable(server.tell(who, sql.split("; "))) for server in servers)
        if one != other:
            differences += 1
            print(f"differs: {line}\n  MySQL  {one}\n  Cohort {other}", flush=True)
    assert not differences, f"{differences} differ"


def at_once(servers):
    """MAX_USER_CONNECTIONS: so many of an account, whoever else there is."""
    for server in servers:
        server.make(["CREATE USER once@localhost WITH MAX_USER_CONNECTIONS 1"])
        told = []
        with contextlib.closing(server.connect("once")):
            with contextlib.closing(server.connect("p")):
                pass
            for _ in range(2):
                try:
                    server.connect("once").close()
                except pymysql.MySQLError as error:
                    told.append(error.args)
        assert told == [(1226, "User 'once' has exceeded the 'max_user_connections' resource "
                               "(current value: 1)")] * 2, (server.name, told)
        until = time.monotonic() + 10
        while True:
            try:
                server.connect("once").close()
                break
            except pymysql.MySQLError:
                assert time.monotonic() < until, server.name
                time.sleep(0.02)
        server.make(["DROP USER once@localhost"])


def shown(value):
    """A value, of which MySQL's restrictions are in no order."""
    if not str(value).startswith("{"):
        return str(value)
    told = json.loads(value)
    told.get("Restrictions", []).sort(key=str)
    return json.dumps(told, sort_keys=True)


def known(server):
    """What a server knows of its accounts."""
    return [[tuple(map(shown, row.values())) for row in ask(server, sql)] for sql in KNOWN]


def caught_up(replica, source, name):
    """Waits until a replica has what its source has, and compares."""
    wanted, until = executed(source), time.monotonic() + 30
    while ask(replica, f"SELECT GTID_SUBSET('{wanted}', @@global.gtid_executed) AS done")[0]["done"] != 1:
        told = status(replica)
        assert not told["Last_SQL_Error"] and time.monotonic() < until, (name, told["Last_SQL_Error"])
        time.sleep(0.05)
    one, other = known(source), known(replica)
    for wanted_rows, rows in zip(one, other, strict=True):
        for row in wanted_rows:
            assert row in rows, (name, row, [other for other in rows if other[:2] == row[:2]])
        assert len(rows) == len(wanted_rows), (name, rows)


def restarted(cohort, server):
    """All of it survives kill -9; what is counted in memory begins anew."""
    server.make(["ALTER USER a@localhost IDENTIFIED BY 'last' RETAIN CURRENT PASSWORD",
                 "SET PERSIST_ONLY partial_revokes = OFF"])
    before = known(cohort)
    cohort.stop(signal.SIGKILL)
    cohort.start()
    assert known(cohort) == before
    server.root = server.connect("root")
    for password in ("last", "nine"):
        server.connect("a", password=password).close()
    for password in ("ten", "eight"):
        with contextlib.suppress(pymysql.MySQLError):
            server.connect("a", password=password)
            raise AssertionError(password)
    assert ask(cohort, "SELECT @@partial_revokes AS on_again") == [{"on_again": 1}]
    told = server.tell("root", ["ALTER USER a@localhost IDENTIFIED BY 'last'", "SET GLOBAL partial_revokes = OFF"])
    assert (told[0][0], told[2][0]) == (3638, 3896), told


def main():
    with contextlib.ExitStack() as stack:
        room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="passwords-")))
        gtids = ("--gtid-mode=ON", "--enforce-gtid-consistency=ON")
        peer = Source(MySQL(room, PEERS), room, free_port(), "--server-id=7", *gtids)
        stack.callback(peer.end)
        cohort = stack.enter_context(Cohort("--server-id", "1"))
        servers = [Server(name, lambda user, port=one.port, **more: pymysql.connect(
            host="127.0.0.1", port=port, user=user, autocommit=True, **more))
            for name, one in (("mysql", peer), ("cohort", cohort))]
        begun = time.monotonic()
        story(servers)
        at_once(servers)
        for server in servers:
            for table in ("user", "db", "password_history"):
                shown_as = server.tell("root", [f"SHOW CREATE TABLE mysql.{table}"])[0][0][1]
                assert shown_as.startswith(f"CREATE TABLE `{table}` ("), (server.name, shown_as)
        print(f"passwords: as in MySQL, {time.monotonic() - begun:.1f} s", flush=True)
        restarted(cohort, servers[1])
        directory = room / "behind"
        directory.mkdir()
        behind = Source(MySQL(room, PEERS), directory, free_port(), "--server-id=8", *gtids)
        stack.callback(behind.end)
        replicas = [(stack.enter_context(Cohort("--server-id", "2")), peer),
                    (stack.enter_context(Cohort("--server-id", "3")), cohort), (behind, cohort)]
        for replica, source in replicas:
            ask(replica, "SET GLOBAL partial_revokes = ON")
            follow(replica, source.port, "SOURCE_USER='root'", "SOURCE_AUTO_POSITION=1", "SOURCE_SSL=1")
            caught_up(replica, source, f"{replica.name} behind {source.name}")
        print(f"passwords: replicas know the same, {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main()
