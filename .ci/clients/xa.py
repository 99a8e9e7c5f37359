#!/usr/bin/env python3
"""XA against the real server: what is prepared survives disconnection, kill -9 and checkpoints,
with its locks, and ends from any connection; mysqlbinlog prints it (COHORT_MYSQLBINLOG, if set).
"""

import os
import pathlib
import signal
import subprocess
import threading

import pymysql

from cohort import Cohort

TRANSFERS, CLIENTS = 60, 4


def one(cursor, sql, *parameters):
    cursor.execute(sql, parameters)
    return cursor.fetchall()


def prepare(server, number):
    """A transfer in a connection of its own, which ends with the preparation."""
    connection = server.connect(database="app")
    cursor = connection.cursor()
    cursor.execute("XA START %s, 'b', 7", (f"t{number}",))
    cursor.execute("UPDATE account SET balance = balance - 1 WHERE id = %s", (2 * number,))
    cursor.execute("UPDATE account SET balance = balance + 1 WHERE id = %s", (2 * number + 1,))
    cursor.execute("XA END %s, 'b', 7", (f"t{number}",))
    cursor.execute("XA PREPARE %s, 'b', 7", (f"t{number}",))
    connection.close()


def transfer_until_killed(server, first, prepared):
    try:
        for number in range(first, TRANSFERS, CLIENTS):
            prepare(server, number)
            prepared.append(number)
            if len(prepared) == TRANSFERS * 3 // 4:
                server.process.send_signal(signal.SIGKILL)
    except (pymysql.MySQLError, OSError):
        pass


def main():
    with Cohort("--cohort-delta-size", "20000") as server:
        cursor = server.connect(autocommit=True).cursor()
        cursor.execute("CREATE DATABASE app")
        cursor.execute("CREATE TABLE app.account (id INT PRIMARY KEY, balance INT NOT NULL)")
        for number in range(2 * TRANSFERS):
            cursor.execute("INSERT INTO app.account VALUES (%s, 10)", (number,))
        prepared = []
        threads = [threading.Thread(target=transfer_until_killed, args=(server, i, prepared))
                   for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        server.stop(signal.SIGKILL)
        for round_number in range(2):
            server.start()
            connection = server.connect(database="app", autocommit=True)
            cursor = connection.cursor()
            names = {row[3] for row in one(cursor, "XA RECOVER")}
            missing = [number for number in prepared if f"t{number}b" not in names]
            assert not missing, f"acknowledged and lost: {missing}"
            assert one(cursor, "SELECT SUM(balance), MIN(balance) FROM account") == ((20 * TRANSFERS, 10),)
            cursor.execute("SET innodb_lock_wait_timeout = 1")
            try:
                cursor.execute("SELECT * FROM account WHERE id = %s FOR UPDATE NOWAIT", (2 * prepared[0],))
                raise AssertionError("a prepared transaction's row is free")
            except pymysql.MySQLError as error:
                assert error.args[0] == 3572, error
            listed = one(cursor, "SELECT user, age_seconds FROM information_schema.cohort_xa_prepared")
            assert len(listed) == len(names) and {row[0] for row in listed} == {"root@localhost"}, listed
            # The second start comes after an orderly stop, with a checkpoint.
            assert round_number == 1 or server.stop() == 0
        done = 0
        for name in sorted(names):
            gtrid = name.removesuffix("b")
            commit = int(gtrid[1:]) % 2 == 0
            cursor.execute(f"XA {'COMMIT' if commit else 'ROLLBACK'} %s, 'b', 7", (gtrid,))
            done += commit
        server.stop(signal.SIGKILL)
        server.start()
        cursor = server.connect(database="app", autocommit=True).cursor()
        assert one(cursor, "XA RECOVER") == ()
        changed = one(cursor, "SELECT COUNT(*), SUM(balance) FROM account WHERE balance <> 10")
        assert changed == ((2 * done, 20 * done),), (changed, done)
        tool = os.environ.get("COHORT_MYSQLBINLOG")
        if tool:
            # The last one is in use, and has nothing but zeros yet.
            files = sorted(pathlib.Path(server.data).rglob("binlog.[0-9]*"))[:-1]
            text = "".join(
                subprocess.run([tool, "--verify-binlog-checksum", file], check=True,
                               capture_output=True, text=True).stdout
                for file in files)
            for number in prepared:
                xid = f"X'{f't{number}'.encode().hex()}',X'62',7"
                outcome = "COMMIT" if number % 2 == 0 else "ROLLBACK"
                for statement in (f"XA START {xid}", f"XA PREPARE {xid}", f"XA {outcome} {xid}"):
                    assert statement in text, f"{statement} is not in the log"
        print(f"xa: {len(names)} prepared transactions, {done} committed, none lost, none half done")


if __name__ == "__main__":
    main()
