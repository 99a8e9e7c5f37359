#!/usr/bin/env python3
"""A bank: its accounts are a database of its own, which steps of sagas change over HTTP.

  service.py NAME PORT MYSQL_PORT OWNER=BALANCE…
"""

import http.server
import json
import sys
import urllib.parse

import pymysql

import barrier

NAME, PORT, MYSQL_PORT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Refused(Exception):
    """The step can never be done: the saga is to be undone."""


def withdraw(cursor, owner, amount):
    if not cursor.execute("UPDATE account SET balance = balance - %s WHERE owner = %s"
                          " AND balance >= %s", (amount, owner, amount)):
        raise Refused(f"{owner} has no {amount} in {NAME}")


def deposit(cursor, owner, amount):
    if not cursor.execute("UPDATE account SET balance = balance + %s WHERE owner = %s",
                          (amount, owner)):
        raise Refused(f"{owner} has no account in {NAME}")


def take_back(cursor, owner, amount):
    deposit(cursor, owner, -amount)  # Even below zero: an undo must not be refused.


STEPS = {"/withdraw": withdraw, "/withdraw-undo": deposit,
         "/deposit": deposit, "/deposit-undo": take_back}


def connect(database=NAME):
    return pymysql.connect(host="127.0.0.1", port=MYSQL_PORT, user="root", database=database)


def take(step, query, order):
    """The barrier's rows and the account's in one local transaction: all of them, or none."""
    with connect() as connection, connection.cursor() as cursor:
        if barrier.is_due(cursor, query["gid"], query["branch_id"], query["op"]):
            step(cursor, order["owner"], order["amount"])
        connection.commit()  # An exception skips it, and closing rolls back.


class Bank(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        order = json.loads(self.rfile.read(int(self.headers["content-length"])))
        try:
            take(STEPS[url.path], dict(urllib.parse.parse_qsl(url.query)), order)
            self.reply(200, {"dtm_result": "SUCCESS"})
        except Refused as why:  # The coordinator undoes the saga.
            self.reply(409, {"dtm_result": "FAILURE", "message": str(why)})
        except Exception as error:  # The coordinator calls again.
            self.reply(500, {"message": repr(error)})

    def do_GET(self):
        with connect() as connection, connection.cursor() as cursor:
            cursor.execute("SELECT owner, balance FROM account ORDER BY owner")
            self.reply(200, dict(cursor.fetchall()))

    def reply(self, status, value):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(value).encode())


with connect(None) as connection, connection.cursor() as cursor:
    cursor.execute(f"CREATE DATABASE IF NOT EXISTS {NAME}")
    cursor.execute(f"USE {NAME}")
    cursor.execute("CREATE TABLE IF NOT EXISTS account"
                   " (owner VARCHAR(64) PRIMARY KEY, balance BIGINT NOT NULL)")
    cursor.execute(barrier.TABLE)
    cursor.executemany("INSERT IGNORE INTO account VALUES (%s, %s)",
                       [account.split("=") for account in sys.argv[4:]])
    connection.commit()
http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Bank).serve_forever()
