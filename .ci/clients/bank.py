#!/usr/bin/env python3
"""A bank whose server is killed again and again.

Clients transfer money between accounts, and note in a journal outside of the server what was
acknowledged. After every kill -9 and restart:
  - the sum of all balances is what it was,
  - every acknowledged transfer is there,
  - every balance is exactly what the transfers in the table make it: none counted twice or half.

  bank.py [ROUNDS] [SECONDS]
"""

import random
import signal
import sys
import threading
import time

import pymysql

from cohort import Cohort

ACCOUNTS, START, CLIENTS = 50, 1000, 8
RETRY = (1205, 1213)


def transfer(cursor, token):
    """One transfer, with its record, in one transaction."""
    source, target = random.sample(range(ACCOUNTS), 2)
    amount = random.randint(1, 20)
    cursor.execute("BEGIN")
    cursor.execute("UPDATE account SET balance = balance - %s WHERE id = %s", (amount, source))
    cursor.execute("UPDATE account SET balance = balance + %s WHERE id = %s", (amount, target))
    cursor.execute("INSERT INTO transfer VALUES (%s, %s, %s, %s)",
                   (token, source, target, amount))
    cursor.execute("COMMIT")


def client(server, number, state):
    """Transfers until the server goes; notes what was acknowledged."""
    try:
        connection = server.connect(database="bank")
        cursor = connection.cursor()
        while not state["stop"]:
            token = f"{state['round']}-{number}-{time.monotonic_ns()}"
            try:
                transfer(cursor, token)
                state["acknowledged"].append(token)
            except pymysql.MySQLError as error:
                if error.args[0] not in RETRY:
                    raise
                cursor.execute("ROLLBACK")
    except (pymysql.MySQLError, OSError) as error:
        if not state["killed"]:
            state["failures"].append(error)


def audit(server, acknowledged):
    """The three conditions; returns how many transfers there are."""
    connection = server.connect(database="bank")
    cursor = connection.cursor()
    cursor.execute("SELECT id, balance FROM account")
    balances = dict(cursor.fetchall())
    assert len(balances) == ACCOUNTS
    assert sum(balances.values()) == ACCOUNTS * START, "the sum has changed"
    cursor.execute("SELECT token, source, target, amount FROM transfer")
    transfers = cursor.fetchall()
    missing = set(acknowledged) - {row[0] for row in transfers}
    assert not missing, f"acknowledged and lost: {sorted(missing)[:5]} of {len(missing)}"
    expected = dict.fromkeys(balances, START)
    for _, source, target, amount in transfers:
        expected[source] -= amount
        expected[target] += amount
    assert expected == balances, "balances are not what the transfers make them"
    connection.close()
    return len(transfers)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 2
    acknowledged = []
    # Small files and a small delta, so that kills also hit rotations and checkpoints.
    flags = ("--max-binlog-size", "1000000", "--cohort-delta-size", "1000000")
    with Cohort(*flags) as server:
        setup = server.connect(autocommit=True).cursor()
        setup.execute("CREATE DATABASE bank")
        setup.execute("CREATE TABLE bank.account (id INT PRIMARY KEY, balance BIGINT NOT NULL)")
        setup.execute("CREATE TABLE bank.transfer (token VARCHAR(60) PRIMARY KEY, source INT, "
                      "target INT, amount INT, KEY (source))")
        rows = ",".join(f"({i}, {START})" for i in range(ACCOUNTS))
        setup.execute(f"INSERT INTO bank.account VALUES {rows}")
        for number in range(rounds):
            state = {"round": number, "stop": False, "killed": False,
                     "acknowledged": acknowledged, "failures": []}
            threads = [threading.Thread(target=client, args=(server, n, state))
                       for n in range(CLIENTS)]
            for thread in threads:
                thread.start()
            time.sleep(seconds * random.uniform(0.5, 1.5))
            state["killed"] = True
            server.stop(signal.SIGKILL)
            state["stop"] = True
            for thread in threads:
                thread.join(60)
            assert not state["failures"], state["failures"]
            server.start()
            count = audit(server, acknowledged)
            assert acknowledged, "nothing was acknowledged"
            print(f"bank: kill {number + 1} of {rounds}: {len(acknowledged)} acknowledged, "
                  f"{count} there", flush=True)


if __name__ == "__main__":
    main()
