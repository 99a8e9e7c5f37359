#!/usr/bin/env python3
"""PyMySQL: transactions, types and errors, as an application uses them."""

import datetime
import decimal
import threading
import time

import pymysql
from pymysql.constants import CLIENT

from cohort import Cohort


def expect_error(code, call, *args):
    """The call must fail with this error."""
    try:
        call(*args)
    except pymysql.MySQLError as error:
        assert error.args[0] == code, f"expected error {code}, got {error.args}"
        return error.args[1]
    raise AssertionError(f"expected error {code}, and there was none: {args}")


def one(cursor, sql, *args):
    """The only row of a query."""
    cursor.execute(sql, args)
    rows = cursor.fetchall()
    assert len(rows) == 1, rows
    return rows[0]


def check_types(server):
    """Every type comes back as it went in."""
    connection = server.connect(database="app", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("""CREATE TABLE types (
        id INT PRIMARY KEY AUTO_INCREMENT, tiny TINYINT, small SMALLINT UNSIGNED, medium MEDIUMINT,
        big BIGINT, huge BIGINT UNSIGNED, f FLOAT, d DOUBLE, dec_ DECIMAL(20,6),
        c CHAR(10), v VARCHAR(100), t TEXT, b VARBINARY(100), bl BLOB,
        day DATE, clock TIME(3), moment DATETIME(6), stamp TIMESTAMP NULL)""")
    values = (-128, 65535, -8388608, -2**63, 2**64 - 1, 1.5, -2.25e-10,
              decimal.Decimal("12345678901234.567890"), "fixed", "naïve 日本 🙂", "x" * 60000,
              bytes(range(100)), b"\0\xff\x80", datetime.date(2024, 2, 29),
              # PyMySQL writes a negative fraction of a second as another time.
              datetime.timedelta(hours=-100),
              datetime.datetime(1999, 12, 31, 23, 59, 59, 999999),
              datetime.datetime(2024, 5, 6, 7, 8, 9))
    names = ("tiny,small,medium,big,huge,f,d,dec_,c,v,t,b,bl,day,clock,moment,stamp")
    marks = ",".join(["%s"] * len(values))
    cursor.execute(f"INSERT INTO types ({names}) VALUES ({marks})", values)
    assert cursor.lastrowid == 1 and cursor.rowcount == 1
    assert one(cursor, f"SELECT {names} FROM types WHERE id = 1") == values
    cursor.execute("INSERT INTO types (tiny) VALUES (NULL)")
    assert one(cursor, f"SELECT {names} FROM types WHERE id = 2") == (None,) * len(values)
    assert one(cursor, "SELECT COUNT(*), SUM(id), AVG(id) FROM types") == (
        2, decimal.Decimal(3), decimal.Decimal("1.5000"))
    connection.close()


def check_transactions(server):
    """Isolation, rollback, savepoints, lock waits and deadlocks."""
    one_side, other = server.connect(database="app"), server.connect(database="app")
    a, b = one_side.cursor(), other.cursor()
    a.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT)")
    a.execute("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)")
    b.execute("SELECT COUNT(*) FROM t")
    assert b.fetchone() == (0,), "uncommitted rows are not seen"
    one_side.commit()
    b.execute("SELECT COUNT(*) FROM t")
    assert b.fetchone() == (0,), "nor are those that came after the snapshot"
    other.commit()
    assert one(b, "SELECT COUNT(*) FROM t") == (3,)
    other.commit()

    a.execute("UPDATE t SET n = 11 WHERE id = 1")
    a.execute("SAVEPOINT s")
    a.execute("DELETE FROM t WHERE id = 1")
    a.execute("ROLLBACK TO SAVEPOINT s")
    assert one(a, "SELECT SUM(n) FROM t") == (decimal.Decimal(61),)
    b.execute("SET innodb_lock_wait_timeout = 1")
    expect_error(1205, b.execute, "UPDATE t SET n = 12 WHERE id = 1")
    expect_error(3572, b.execute, "SELECT * FROM t WHERE id = 1 FOR UPDATE NOWAIT")
    b.execute("SELECT id FROM t ORDER BY id FOR UPDATE SKIP LOCKED")
    assert b.fetchall() == ((2,), (3,))
    other.rollback()
    one_side.rollback()
    assert one(a, "SELECT n FROM t WHERE id = 1") == (10,)
    one_side.rollback()

    b.execute("SET innodb_lock_wait_timeout = 50")
    a.execute("UPDATE t SET n = n + 1 WHERE id = 1")
    b.execute("UPDATE t SET n = n + 1 WHERE id = 2")
    outcomes = []

    def cross(connection, cursor, row):
        try:
            cursor.execute("UPDATE t SET n = n + 1 WHERE id = %s", (row,))
            connection.commit()
            outcomes.append("committed")
        except pymysql.MySQLError as error:
            outcomes.append(error.args[0])
            connection.rollback()

    threads = [threading.Thread(target=cross, args=args)
               for args in ((one_side, a, 2), (other, b, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert sorted(map(str, outcomes)) == ["1213", "committed"], outcomes
    assert one(a, "SELECT SUM(n) FROM t") == (decimal.Decimal(62),)
    one_side.close()
    other.close()


def check_errors(server):
    """Errors carry MySQL's numbers, and the connection lives on."""
    connection = server.connect(database="app", autocommit=True)
    cursor = connection.cursor()
    cursor.execute("CREATE TABLE e (id INT PRIMARY KEY, s VARCHAR(3) NOT NULL, UNIQUE KEY u (s))")
    cursor.execute("INSERT INTO e VALUES (1, 'a')")
    text = expect_error(1062, cursor.execute, "INSERT INTO e VALUES (1, 'b')")
    assert text == "Duplicate entry '1' for key 'e.PRIMARY'", text
    expect_error(1062, cursor.execute, "INSERT INTO e VALUES (2, 'A')")
    expect_error(1048, cursor.execute, "INSERT INTO e VALUES (2, NULL)")
    expect_error(1406, cursor.execute, "INSERT INTO e VALUES (2, 'long')")
    expect_error(1364, cursor.execute, "INSERT INTO e (id) VALUES (2)")
    expect_error(1064, cursor.execute, "SELEKT 1")
    expect_error(1054, cursor.execute, "SELECT missing FROM e")
    expect_error(1146, cursor.execute, "SELECT * FROM missing")
    assert one(cursor, "SELECT COUNT(*) FROM e") == (1,)
    expect_error(1049, lambda: server.connect(database="missing"))
    connection.close()


def check_session(server):
    """Several statements at once, KILL, COM_CHANGE_USER's relatives, big packets."""
    connection = server.connect(database="app", client_flag=CLIENT.MULTI_STATEMENTS)
    cursor = connection.cursor()
    cursor.execute("SELECT 1; SET @x = 5; SELECT @x + 1")
    results = [cursor.fetchall()]
    while cursor.nextset():
        results.append(cursor.fetchall())
    assert [r for r in results if r] == [((1,),), ((6,),)], results
    assert one(cursor, "SELECT LENGTH(%s)", "y" * (17 << 20)) == (17 << 20,)
    connection.ping(reconnect=False)
    connection.select_db("app")

    victim = server.connect(database="app")
    target = victim.thread_id()
    started = threading.Event()
    outcome = []

    def sleep():
        started.set()
        try:
            victim.cursor().execute("SELECT SLEEP(60)")
            outcome.append("slept")
        except pymysql.MySQLError as error:
            outcome.append(error.args[0])

    thread = threading.Thread(target=sleep)
    thread.start()
    started.wait()
    time.sleep(0.5)
    cursor.execute(f"KILL {target}")
    thread.join(20)
    assert outcome and outcome[0] in (1317, 2013), outcome
    connection.close()


def check_passwords(server):
    """Both authentication methods; the first login of caching_sha2_password is the full one."""
    connection = server.connect(autocommit=True)
    cursor = connection.cursor()
    cursor.execute("CREATE USER ann@localhost IDENTIFIED BY 'sesame'")
    cursor.execute("GRANT ALL ON *.* TO ann@localhost")
    for _ in range(2):
        login = pymysql.connect(host="127.0.0.1", port=server.port, user="ann", password="sesame")
        assert one(login.cursor(), "SELECT CURRENT_USER()") == ("ann@localhost",)
        login.close()
    text = expect_error(1045, lambda: pymysql.connect(
        host="127.0.0.1", port=server.port, user="ann", password="wrong"))
    assert text == "Access denied for user 'ann'@'localhost' (using password: YES)", text
    expect_error(1045, lambda: pymysql.connect(host="127.0.0.1", port=server.port, user="bob"))
    connection.close()


def main():
    with Cohort() as server:
        connection = server.connect(autocommit=True)
        connection.cursor().execute("CREATE DATABASE app")
        connection.close()
        for check in (check_types, check_transactions, check_errors, check_session,
                      check_passwords):
            check(server)
            print(f"pymysql: {check.__name__} passed", flush=True)
        assert server.stop() == 0, "SIGTERM ends the server in good order"


if __name__ == "__main__":
    main()
