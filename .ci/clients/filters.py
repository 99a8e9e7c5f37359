#!/usr/bin/env python3
"""CHANGE REPLICATION FILTER and START REPLICA UNTIL mean what they mean in MySQL 9.7: a MySQL and a
Cohort replicate from the same source with the same random rules, and have the same afterwards, or
stop at the same transaction.

  .ci/clients/filters.py [ROUNDS [SEED]]

MySQL comes from the Debian unstable root that PEERS_ROOT names (/opt/peers-sid).
"""

import contextlib
import os
import pathlib
import random
import sys
import tempfile
import time

import pymysql

from cohort import TARGET, Cohort, free_port, seed_of
from replicas import PEERS
from sources import MySQL, Source, ask, executed, follow

DATABASES, TABLES = ("a", "b", "ab", "a_b"), ("t", "u", "tu", "t_u")


def rules(rng, prefix):
    """Some random rules, as they stand in the statement."""
    def database():
        return f"`{prefix}{rng.choice(DATABASES)}`"
    def table():
        return f"{database()}.`{rng.choice(TABLES)}`"
    def pattern():
        name = f"{prefix}{rng.choice(DATABASES + ('a%', '%b', 'a_b', 'A'))}"
        escaped = name.replace("_b", "\\\\_b") if rng.random() < 0.3 else name
        return f"'{escaped}.{rng.choice(TABLES + ('%', 't%', '%u', 't_u'))}'"
    kinds = {"DO_DB": database, "IGNORE_DB": database, "DO_TABLE": table, "IGNORE_TABLE": table,
             "WILD_DO_TABLE": pattern, "WILD_IGNORE_TABLE": pattern,
             "REWRITE_DB": lambda: f"({database()}, {database()})"}
    chosen = rng.sample(list(kinds), rng.choice((1, 1, 2, 3)))
    return {name: [kinds[name]() for _ in range(rng.choice((1, 2)))] if name in chosen else []
            for name in kinds}


def statements(rng, prefix):
    """Random definitions and changes, with and without a default database."""
    yield None, "SET NAMES utf8mb4"
    for name in DATABASES:
        yield None, f"CREATE DATABASE `{prefix}{name}`"
    # A definition is of its session's default database, mostly that of the table.
    for name in DATABASES:
        for table in TABLES:
            yield f"{prefix}{name}", f"CREATE TABLE `{table}` (id INT PRIMARY KEY, v INT)"
    for number in range(60):
        name, table = rng.choice(DATABASES), rng.choice(TABLES)
        default = f"{prefix}{name if rng.random() < 0.8 else rng.choice(DATABASES)}"
        target = f"`{prefix}{name}`.`{table}`"
        other = f"`{prefix}{name}`.`{rng.choice(TABLES)}`"
        kind = rng.random()
        if rng.random() < 0.15:
            default = None
        if kind < 0.5:
            yield default, f"REPLACE INTO {target} VALUES ({rng.randrange(9)}, {number})"
        elif kind < 0.7:
            yield default, f"UPDATE {target}, {other} AS o SET o.v = {number} WHERE o.id < 3"
        elif kind < 0.8:
            yield default, f"DELETE FROM {target} WHERE id = {rng.randrange(9)}"
        elif kind < 0.87:
            yield default, f"ALTER TABLE {target} ADD COLUMN c{number} INT"
        elif kind < 0.9:
            yield default, f"DROP TABLE IF EXISTS {target}, {other}"
        elif kind < 0.94:
            yield default, f"CREATE TABLE IF NOT EXISTS {target} (id INT PRIMARY KEY, v INT)"
        elif kind < 0.97:
            yield default, f"CREATE OR REPLACE VIEW `{prefix}{name}`.seen AS SELECT 1 AS x"
        else:
            yield default, f"TRUNCATE TABLE {target}"
    if rng.random() < 0.3:
        yield None, f"DROP DATABASE `{prefix}{rng.choice(DATABASES)}`"


def change(source, rng, prefix):
    """Has the source do it; what it refuses is left out."""
    with contextlib.closing(source.connect(autocommit=True)) as connection:
        cursor = connection.cursor()
        for database, sql in statements(rng, prefix):
            # A session whose default database is gone has none.
            with contextlib.suppress(pymysql.MySQLError):
                if database:
                    cursor.execute(f"USE `{database}`")
                cursor.execute(sql)


def wait(source, replica):
    """Waits until a replica has all, or has stopped; whether it has stopped."""
    wanted, until = executed(source), time.monotonic() + 60
    while True:
        if ask(replica, f"SELECT GTID_SUBSET('{wanted}', @@gtid_executed) AS d")[0]["d"]:
            return False
        status = ask(replica, "SHOW REPLICA STATUS")[0]
        if status["Replica_SQL_Running"] == "No":
            return True
        assert time.monotonic() < until, status
        time.sleep(0.05)


def contents(server, prefix):
    """All tables of a round, and their rows."""
    tables = ask(server, "SELECT TABLE_SCHEMA AS s, TABLE_NAME AS n FROM information_schema.TABLES "
                         f"WHERE TABLE_SCHEMA LIKE '{prefix}%' ORDER BY 1, 2")
    databases = [row["s"] for row in ask(
        server, "SELECT SCHEMA_NAME AS s FROM information_schema.SCHEMATA "
                f"WHERE SCHEMA_NAME LIKE '{prefix}%' ORDER BY 1")]
    return databases, {(t["s"], t["n"]): ask(server, f"SELECT * FROM `{t['s']}`.`{t['n']}` ORDER BY 1")
                       for t in tables}


def skip_all(source, replica):
    """Passes over what a replica that has stopped does not have."""
    ask(replica, "STOP REPLICA")
    missing = ask(replica, f"SELECT GTID_SUBTRACT('{executed(source)}', @@gtid_executed) AS m")[0]["m"]
    with contextlib.closing(replica.connect(autocommit=True)) as connection:
        cursor = connection.cursor()
        for member in missing.replace("\n", "").split(","):
            uuid, *ranges = member.split(":")
            for numbers in ranges:
                first, _, last = numbers.partition("-")
                for number in range(int(first), int(last or first) + 1):
                    cursor.execute(f"SET gtid_next = '{uuid}:{number}'")
                    cursor.execute("COMMIT")


def check_until(source, replicas):
    """Both stop where they are told to."""
    ask(source, "CREATE DATABASE until_db")
    ask(source, "CREATE TABLE until_db.t (id INT PRIMARY KEY)")
    uuid = ask(source, "SELECT @@server_uuid AS u")[0]["u"]
    for replica in replicas:
        assert not wait(source, replica)
    for condition in ("SQL_AFTER_GTIDS = '{gtid}'", "SQL_BEFORE_GTIDS = '{gtid}'",
                      "SOURCE_LOG_FILE = '{file}', SOURCE_LOG_POS = {position}"):
        for replica in replicas:
            ask(replica, "STOP REPLICA")
        ask(source, "DELETE FROM until_db.t")
        for number in range(10):
            ask(source, f"INSERT INTO until_db.t VALUES ({number})")
            if number == 4:
                last = executed(source).split(":")[-1].rsplit("-", maxsplit=1)[-1]
                place = ask(source, "SHOW BINARY LOG STATUS")[0]
        until = condition.format(gtid=f"{uuid}:{last}", file=place["File"], position=place["Position"])
        answers = []
        for replica in replicas:
            ask(replica, f"START REPLICA UNTIL {until}")
            assert wait(source, replica), "it goes on"
            status = ask(replica, "SHOW REPLICA STATUS")[0]
            assert not status["Last_SQL_Error"], status
            rows = ask(replica, "SELECT COUNT(*) AS n FROM until_db.t")[0]["n"]
            answers.append((rows, status["Until_Condition"], status["Until_Log_File"],
                            status["Until_Log_Pos"]))
            ask(replica, "STOP REPLICA")
            ask(replica, "START REPLICA")
            assert not wait(source, replica)
        assert answers[0] == answers[1], (condition, answers)
    print("filters: START REPLICA UNTIL stops where MySQL stops", flush=True)


def check_tables(source, replicas):
    """performance_schema.replication_… tells the same of both."""
    ask(source, "CREATE DATABASE told")
    shown = []
    for replica in replicas:
        assert not wait(source, replica)
        columns = ask(replica, "SELECT TABLE_NAME AS t, COLUMN_NAME AS c FROM "
                               "information_schema.COLUMNS WHERE TABLE_SCHEMA = 'performance_schema' "
                               "AND TABLE_NAME LIKE 'replication%' ORDER BY 1, ORDINAL_POSITION")
        ask(replica, "SET GLOBAL time_zone = '+00:00'")
        queued = ask(replica, "SELECT SOURCE_UUID, SERVICE_STATE, LAST_ERROR_NUMBER, "
                              "LAST_QUEUED_TRANSACTION, "
                              "LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP, "
                              "LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP, "
                              "QUEUEING_TRANSACTION FROM performance_schema.replication_connection_status")
        applied = ask(replica, "SELECT LAST_APPLIED_TRANSACTION, SERVICE_STATE, "
                               "LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP, "
                               "LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP, "
                               "LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP >= "
                               "LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP AS later FROM "
                               "performance_schema.replication_applier_status_by_worker ORDER BY "
                               "LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP DESC LIMIT 1")
        configured = ask(replica, "SELECT HOST, PORT, USER, AUTO_POSITION, SSL_ALLOWED, "
                                  "CONNECTION_RETRY_INTERVAL, HEARTBEAT_INTERVAL, "
                                  "COMPRESSION_ALGORITHM FROM performance_schema."
                                  "replication_connection_configuration")
        state = ask(replica, "SELECT * FROM performance_schema.replication_applier_status")
        shown.append((columns, queued, applied, configured, state))
    for mine, theirs in zip(*shown):
        assert mine == theirs, (mine, theirs)
    print("filters: performance_schema.replication_... tells what it tells in MySQL", flush=True)


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seed = seed_of(2)
    print(f"filters: seed {seed}", flush=True)
    rng, room, stops = random.Random(seed), TARGET / "mysqltest", 0
    with tempfile.TemporaryDirectory(prefix="filters-") as directory, \
            contextlib.ExitStack() as ends, Cohort("--server-id", "43") as cohort:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        peers = []
        for number in (41, 42):
            place = directory / str(number)
            place.mkdir()
            peers.append(Source(MySQL(room, PEERS), place, free_port(), f"--server-id={number}",
                                "--gtid-mode=ON", "--enforce-gtid-consistency=ON",
                                "--log-bin=binlog"))
            ends.callback(peers[-1].end)
        source, peer = peers
        ask(source, "CREATE USER repl@'127.0.0.1' IDENTIFIED BY 'secret'")
        ask(source, "GRANT ALL ON *.* TO repl@'127.0.0.1'")
        for replica in (peer, cohort):
            follow(replica, source.port, "SOURCE_USER='repl'", "SOURCE_PASSWORD='secret'",
                   "SOURCE_SSL=1", "SOURCE_AUTO_POSITION=1")
            assert not wait(source, replica)
        check_tables(source, (peer, cohort))
        check_until(source, (peer, cohort))
        for number in range(count):
            prefix = f"r{number}x"
            chosen = rules(rng, prefix)
            text = ", ".join(f"REPLICATE_{name} = ({', '.join(entries)})"
                             for name, entries in chosen.items())
            shown = []
            for replica in (peer, cohort):
                ask(replica, "STOP REPLICA")
                ask(replica, f"CHANGE REPLICATION FILTER {text}")
                status = ask(replica, "SHOW REPLICA STATUS")[0]
                # MySQL shows lists in no order of its own.
                shown.append({name: sorted(set(value.split(","))) for name, value in status.items()
                              if name.startswith("Replicate_")})
            assert shown[0] == shown[1], (text, shown)
            ask(cohort, "START REPLICA")
            change(source, rng, prefix)
            ask(peer, "START REPLICA")
            stopped = [wait(source, replica) for replica in (peer, cohort)]
            told = [executed(replica) for replica in (peer, cohort)]
            errors = [ask(replica, "SHOW REPLICA STATUS")[0]["Last_SQL_Error"]
                      for replica in (peer, cohort)]
            assert stopped[0] == stopped[1], (text, errors)
            found = [contents(replica, prefix) for replica in (peer, cohort)]
            if stopped[0]:
                stops += 1
                uuid = ask(source, "SELECT @@server_uuid AS u")[0]["u"]
                mine = [[part for part in one.split(",") if uuid in part] for one in told]
                assert mine[0] == mine[1], (text, errors, mine)
            assert found[0] == found[1], (text, [one[0] for one in found], [
                (name, found[0][1].get(name), found[1][1].get(name))
                for name in found[0][1].keys() | found[1][1].keys()
                if found[0][1].get(name) != found[1][1].get(name)][:2])
            if stopped[0]:
                for replica in (peer, cohort):
                    skip_all(source, replica)
    print(f"filters: {count} sets of rules leave the same on MySQL and Cohort "
          f"(both stopped {stops} times)", flush=True)


if __name__ == "__main__":
    main()
