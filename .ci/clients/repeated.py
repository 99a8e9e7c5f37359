#!/usr/bin/env python3
"""A replica repeats what its source did: the scripts that say what MySQL answers (sql/tests/golden) run at a source,
whatever they answer there, and before each statement that changes or ends what was made, its replica has the same
tables with the same rows.

A few run at a MySQL 9.7 as well, from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).

  .ci/clients/repeated.py [SCRIPT...]
"""

import contextlib
import importlib.util
import re
import sys

import pymysql

import cohort
from replica_cases import REPL, ROOT, arrive, mysql_source
from replicas import PEERS
from sources import ask, executed, follow, status

GOLDEN = cohort.ROOT / "sql" / "tests" / "golden"
SPEC = importlib.util.spec_from_file_location("golden", GOLDEN / "generate.py")
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)
# What is of the whole server is not of a script: the scripts' order would matter. And what no log says, in MySQL
# neither, no replica can do.
LEFT_OUT = re.compile(
    r"\b(GLOBAL|PERSIST|PERSIST_ONLY|PURGE|RESET|LOCK INSTANCE|READ LOCK)\b|read_only|sql_log_bin"
    r"|div_precision_increment|default_week_format|block_encryption_mode", re.IGNORECASE)
# Scripts whose definitions and rows MySQL's log has in forms of its own.
FROM_MYSQL = {"added_now", "checks", "create_select", "defaults", "foreign_keys", "forgiven_rows",
              "json_tables", "multi_valued_values", "numbered", "numbers_of_new_columns"}
# Before these the tables are compared; after queries there is nothing new to compare.
ENDS = {"DROP", "TRUNCATE", "RENAME", "ALTER"}
QUERIES = {"SELECT", "SHOW", "SET", "EXPLAIN", "DESC", "WITH", "TABLE", "VALUES"}


def tables(server):
    """All tables and views, as they are defined, with their rows. The next AUTO_INCREMENT value is the source's own:
    it has counted rows that were rolled back."""
    found = {}
    with contextlib.closing(server.connect(autocommit=True, conv={})) as connection:
        cursor = connection.cursor()
        cursor.execute("SET time_zone = '+00:00', sql_mode = ''")
        cursor.execute("SELECT table_name, table_type FROM information_schema.tables WHERE table_schema = 'golden'")
        for name, kind in cursor.fetchall():
            quoted = "golden.`" + name.replace("`", "``") + "`"
            with contextlib.suppress(pymysql.err.MySQLError):  # a view of something that has gone
                cursor.execute(f"SHOW CREATE TABLE {quoted}")
                found[name] = [re.sub(r" AUTO_INCREMENT=\d+", "", cursor.fetchone()[1])]
            if kind == "BASE TABLE":
                cursor.execute(f"SELECT * FROM {quoted}")
                found[name] += sorted(map(repr, cursor.fetchall()))
    return found


def compare(source, replica, place):
    """Waits for the replica and compares; how many tables."""
    try:
        arrive(source, replica)
    except AssertionError as error:
        raise AssertionError(f"{place}: {status(replica)['Last_SQL_Error']}") from error
    here, there = tables(source), tables(replica)
    for name in sorted(here.keys() | there.keys()):
        mine, other = here.get(name, []), there.get(name, [])
        assert mine == other, (f"{place}: {name} has {[row for row in mine if row not in other][:3]} at the source, and "
                               f"{[row for row in other if row not in mine][:3]} at the replica")
    return len(here)


def run(path, source, replica):
    """One script; how many tables were compared."""
    compared = 0
    with contextlib.closing(source.connect(autocommit=True, conv={}, charset="utf8mb4",
                                           collation="utf8mb4_0900_ai_ci")) as connection:
        cursor = connection.cursor()
        for statement in ("DROP DATABASE IF EXISTS golden", "CREATE DATABASE golden", "USE golden"):
            cursor.execute(statement)
        changed = False
        for statement in golden.statements(path):
            if LEFT_OUT.search(statement):
                continue
            word = statement.split(None, 1)[0].upper()
            if word in ENDS and changed:
                compared += compare(source, replica, f"{path.name}, before {statement}")
                changed = False
            with contextlib.suppress(pymysql.err.MySQLError):
                cursor.execute(statement)
            changed |= word not in QUERIES
        if connection.open:
            connection.rollback()
        return compared + compare(source, replica, f"{path.name}, at its end")


def repeat(names, source, replica):
    """Scripts, one after another."""
    compared = sum(run(GOLDEN / f"{name}.sql", source, replica) for name in names)
    assert compared > len(names), compared
    print(f"repeated: {len(names)} scripts, {compared} tables found alike", flush=True)


def from_cohort(names):
    with cohort.Cohort("--server-id", "1") as source, cohort.Cohort("--server-id", "2") as replica:
        follow(replica, source.port, *ROOT, "SOURCE_AUTO_POSITION=1", "SOURCE_HEARTBEAT_PERIOD=1")
        repeat(names, source, replica)


def from_mysql(names):
    with mysql_source() as source, cohort.Cohort("--server-id", "5") as replica:
        ask(replica, f"SET GLOBAL gtid_purged = '+{executed(source)}'")
        follow(replica, source.port, *REPL, "SOURCE_AUTO_POSITION=1")
        repeat(names, source, replica)


def main():
    names = sys.argv[1:] or sorted(path.stem for path in GOLDEN.glob("*.sql"))
    from_cohort(names)
    if not (PEERS / "usr/sbin/mysqld").exists():
        print("repeated: without MySQL, which is not there", flush=True)
        return
    from_mysql([name for name in names if name in FROM_MYSQL])


if __name__ == "__main__":
    main()
