"""ALTER TABLE beside writers, through MySQL's protocol.

Writers insert, update and delete in transactions of their own, which they end either way, in a table with a
parent and a child, while one session alters it in every way there is, and others are killed. Now and then the
server is killed, too. Then every index forced gives what the table scan gives, CHECK TABLE finds nothing, no
acknowledged row is lost, and a replica that has followed all the while, through the same ALTERs, has the same rows.

    online_ddl.py [seed] [seconds]
"""

import collections
import random
import sys
import threading
import time

import pymysql

import cohort

SEED = cohort.seed_of(1)
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 20
ROWS = 4000

# What the writers may hear while definitions change beneath them.
EXPECTED = {
    1020,  # the row has changed
    1054, 1136,  # a column is not there just now
    1062,  # a unique index that came meanwhile
    1205, 1213,  # locks
    1264, 1406,  # a column is too small just now
    1317,  # KILL
    1412,  # an older view
    1451, 1452,  # foreign keys
    1364,  # a column without a default
    3819,  # CHECK
}
# What an ALTER may hear: duplicates, waits, KILL, and what was changed by the one before.
REFUSED = {1061, 1062, 1060, 1068, 1075, 1091, 1176, 1205, 1213, 1317, 1072, 1054, 1265, 1406, 3819, 3821, 3822, 1826, 1412, 1846, 1845}
GONE = {2006, 2013, 2003, 1053, 1927, 0}


def alter(roll):
    """A table and an ALTER of any kind, by chance."""
    name = f"i{roll.randrange(6)}"
    if roll.randrange(4) == 0:
        # Its rows have no key but the hidden one, or have one.
        return "bare", roll.choice([
            "ADD PRIMARY KEY (id)", "DROP PRIMARY KEY", "DROP PRIMARY KEY, ADD PRIMARY KEY (id, v)",
            f"ADD INDEX {name} (v)", f"DROP INDEX {name}", "FORCE", "MODIFY v BIGINT", "MODIFY v INT"])
    return "t", roll.choice([
        f"ADD INDEX {name} (a)",
        f"ADD INDEX {name} (b(5), a)",
        f"ADD UNIQUE INDEX {name} (a, id)",
        f"ADD UNIQUE INDEX {name} (u)",
        f"ADD FULLTEXT INDEX {name} (b)",
        f"ADD INDEX {name} ((a + 1))",
        f"ADD INDEX {name} (a), LOCK=SHARED",
        f"ADD INDEX {name} (a), LOCK=EXCLUSIVE",
        f"ADD INDEX {name} (a), ALGORITHM=INPLACE, LOCK=NONE",
        f"DROP INDEX {name}", f"DROP INDEX {name}", f"DROP INDEX {name}",
        f"ALTER INDEX {name} INVISIBLE",
        f"RENAME INDEX {name} TO i{roll.randrange(6)}",
        "ADD COLUMN c INT DEFAULT 7", "ADD COLUMN c INT AS (a * 2) STORED",
        "ADD COLUMN c INT AS (a + 2) VIRTUAL", "ADD COLUMN c VARCHAR(9) FIRST",
        "ADD COLUMN c INT DEFAULT 8 AFTER a, ALGORITHM=INPLACE", "ADD COLUMN c INT DEFAULT 9, ALGORITHM=INSTANT",
        "DROP COLUMN c", "DROP COLUMN c", "DROP COLUMN c, ALGORITHM=COPY", "DROP COLUMN c, ALGORITHM=INSTANT",
        "ADD COLUMN n INT NOT NULL AUTO_INCREMENT UNIQUE", "DROP COLUMN n", "MODIFY n INT DEFAULT 0",
        "MODIFY n INT DEFAULT 0, ADD COLUMN m INT AUTO_INCREMENT UNIQUE", "DROP COLUMN m",
        "MODIFY a BIGINT", "MODIFY a INT", "MODIFY a INT AFTER b", "MODIFY a INT FIRST",
        "MODIFY b VARCHAR(200)", "MODIFY b TEXT",
        "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        "CONVERT TO CHARACTER SET latin1",
        "FORCE", "ENGINE=InnoDB, ALGORITHM=COPY",
        "ALTER COLUMN a SET DEFAULT 5", "COMMENT='again'",
        "ADD CONSTRAINT small CHECK (a < 1000000)", "DROP CHECK small",
        "DROP FOREIGN KEY up", "ADD CONSTRAINT up FOREIGN KEY (p) REFERENCES parent (id)",
    ])


class Run:
    def __init__(self, server, roll):
        self.server, self.roll = server, roll
        self.stop = False
        self.lock = threading.Lock()
        # By id: whether it must be there, of rows that only one writer has to do with.
        self.known = {}
        self.committed = self.altered = self.killed = 0
        self.refused = collections.Counter()
        self.failures = []
        self.longest = 0.0
        self.ids = []

    def connect(self):
        while not self.stop:
            try:
                return self.server.connect(database="d", autocommit=False, read_timeout=60)
            except (pymysql.err.OperationalError, OSError):
                time.sleep(0.05)
        return None

    def fail(self, what):
        self.failures.append(what)
        self.stop = True

    def writer(self, number):
        roll = random.Random(f"{SEED}-{number}")
        serial = number * 10_000_000
        connection = None
        while not self.stop:
            if connection is None:
                connection = self.connect()
                if connection is None:
                    return
                with self.lock:
                    self.ids.append(connection.thread_id())
            mine = {}
            committing = False
            try:
                cursor = connection.cursor()
                for _ in range(roll.randrange(1, 5)):
                    serial += 1
                    with self.lock:
                        own = [row for row, is_there in self.known.items()
                               if is_there and row // 10_000_000 == number and row not in mine]
                    kind = roll.randrange(8)
                    if kind < 2 or not own:
                        cursor.execute(
                            "INSERT INTO t (id, a, b, u, p) VALUES (%s, %s, %s, %s, %s)",
                            (serial, roll.randrange(1000), f"word{roll.randrange(50)} text", serial,
                             roll.randrange(10)))
                        mine[serial] = True
                    elif kind == 2:
                        row = roll.choice(own)
                        cursor.execute("DELETE FROM t WHERE id = %s", row)
                        mine[row] = False
                    elif kind == 3:
                        cursor.execute("UPDATE t SET a = %s, b = %s WHERE id = %s",
                                       (roll.randrange(1000), f"word{roll.randrange(50)}",
                                        roll.randrange(1, ROWS)))
                    elif kind == 4:
                        cursor.execute("UPDATE t SET u = -u WHERE id = %s", roll.choice(own))
                    elif kind == 6:
                        cursor.execute("INSERT INTO bare (id, v) VALUES (%s, %s)", (serial, roll.randrange(100)))
                    elif kind == 7:
                        cursor.execute("UPDATE bare SET v = v + 1 WHERE v = %s LIMIT 3", roll.randrange(100))
                        cursor.execute("DELETE FROM bare WHERE v = %s ORDER BY id LIMIT 1", roll.randrange(100))
                    else:
                        cursor.execute("INSERT IGNORE INTO child (id, t) VALUES (%s, %s)",
                                       (serial, roll.randrange(1, ROWS)))
                if roll.randrange(4) == 0:
                    connection.rollback()
                    continue
                committing = True
                connection.commit()
                with self.lock:
                    self.known.update(mine)
                    self.committed += 1
            except pymysql.err.MySQLError as error:
                code = error.args[0]
                if committing or code in GONE:
                    # Nobody knows what became of it.
                    with self.lock:
                        for row in mine:
                            self.known.pop(row, None)
                if code in GONE or isinstance(error, pymysql.err.InterfaceError):
                    connection = None
                elif code in EXPECTED:
                    try:
                        connection.rollback()
                    except pymysql.err.MySQLError:
                        connection = None
                else:
                    self.fail(f"a writer got {error}")
            except (OSError, AttributeError):
                connection = None
                with self.lock:
                    for row in mine:
                        self.known.pop(row, None)

    def alterer(self):
        roll = random.Random(f"{SEED}-alters")
        connection = None
        while not self.stop:
            connection = connection or self.connect()
            if connection is None:
                return
            table, action = alter(roll)
            self.alter_id = connection.thread_id()
            try:
                cursor = connection.cursor()
                cursor.execute("SET lock_wait_timeout = 5")
                cursor.execute(f"ALTER TABLE {table} {action}")
                self.altered += 1
            except pymysql.err.MySQLError as error:
                if error.args[0] in GONE or isinstance(error, pymysql.err.InterfaceError):
                    connection = None
                elif error.args[0] in REFUSED:
                    self.refused[error.args[0]] += 1
                else:
                    self.fail(f"ALTER TABLE {table} {action}: {error}")
            except OSError:
                connection = None

    def killer(self):
        """Kills the ALTER now and then."""
        roll = random.Random(f"{SEED}-kills")
        connection = None
        while not self.stop:
            time.sleep(roll.random() * 0.6)
            connection = connection or self.connect()
            if connection is None:
                return
            try:
                connection.cursor().execute(f"KILL QUERY {self.alter_id}")
                self.killed += 1
            except (pymysql.err.MySQLError, OSError, AttributeError) as error:
                if isinstance(error, pymysql.err.MySQLError) and error.args[0] == 1094:
                    continue
                connection = None

    def reader(self):
        """Reads one row again and again: nothing may keep it for long."""
        connection = None
        while not self.stop:
            connection = connection or self.connect()
            if connection is None:
                return
            begun = time.monotonic()
            try:
                connection.cursor().execute("SELECT a FROM t WHERE id = 1")
                connection.commit()
                self.longest = max(self.longest, time.monotonic() - begun)
            except (pymysql.err.MySQLError, OSError):
                connection = None
            time.sleep(0.002)


def rows(connection, table, hint=""):
    cursor = connection.cursor()
    cursor.execute(f"SELECT * FROM {table} {hint}")
    return sorted(map(repr, cursor.fetchall()))


def check(run, what):
    """The table at rest."""
    with run.server.connect(database="d", autocommit=True) as connection:
        cursor = connection.cursor()
        for table in ("t", "child", "parent", "bare"):
            cursor.execute(f"CHECK TABLE {table}")
            found = cursor.fetchall()
            assert [row[3] for row in found] == ["OK"], f"{what}: {found}"
        cursor.execute("SELECT id FROM t")
        there = {row[0] for row in cursor.fetchall()}
        for row, is_there in run.known.items():
            assert (row in there) == is_there, f"{what}: row {row} {'lost' if is_there else 'is back'}"
        whole = rows(connection, "t", "IGNORE INDEX (PRIMARY)")
        cursor.execute(
            "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = 'd' AND "
            "table_name = 't' AND index_type = 'BTREE' AND is_visible = 'YES' AND column_name IS NOT NULL")
        names = [row[0] for row in cursor.fetchall()]
        for name in names:
            forced = rows(connection, "t", f"FORCE INDEX (`{name}`)")
            assert forced == whole, f"{what}: by {name} there are {len(forced)} rows, of {len(whole)}"
            cursor.execute(
                f"SELECT column_name FROM information_schema.statistics WHERE table_schema = 'd' AND "
                f"table_name = 't' AND index_name = '{name}' AND seq_in_index = 1")
            column = cursor.fetchone()[0]
            ranged = rows(connection, f"(SELECT * FROM t FORCE INDEX (`{name}`) WHERE {column} >= -2000000000 OR "
                                      f"{column} IS NULL OR {column} >= '') AS all_of_it")
            assert len(ranged) == len(whole), f"{what}: {name} finds {len(ranged)} rows, of {len(whole)}"
        cursor.execute("SELECT index_name FROM information_schema.statistics WHERE table_schema = 'd' AND "
                       "table_name = 't' AND index_type = 'FULLTEXT'")
        if cursor.fetchone():
            cursor.execute("SELECT COUNT(*) FROM t WHERE MATCH (b) AGAINST ('word7' IN BOOLEAN MODE)")
            searched = cursor.fetchone()[0]
            cursor.execute("SELECT COUNT(*) FROM t WHERE b REGEXP '(^| )word7( |$)'")
            assert searched == cursor.fetchone()[0], f"{what}: words"
        return whole


def fill(server):
    with server.connect(autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("CREATE DATABASE d")
        cursor.execute("USE d")
        cursor.execute("CREATE TABLE bare (id INT NOT NULL, v INT)")
        cursor.execute("CREATE TABLE parent (id INT PRIMARY KEY)")
        cursor.execute("INSERT INTO parent VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)")
        cursor.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(60), u INT, p INT, "
                       "UNIQUE KEY u (u), KEY p (p), CONSTRAINT up FOREIGN KEY (p) REFERENCES parent (id))")
        cursor.execute("CREATE TABLE child (id INT PRIMARY KEY, t INT, KEY t (t), "
                       "FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)")
        for begin in range(1, ROWS, 1000):
            values = ",".join(f"({n},{n % 700},'word{n % 50}',{n},{n % 10})"
                              for n in range(begin, begin + 1000))
            cursor.execute(f"INSERT INTO t (id, a, b, u, p) VALUES {values}")


def replica_of(source, replica):
    with replica.connect(autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute(
            f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={source.port}, SOURCE_USER='root', "
            "SOURCE_PASSWORD='', SOURCE_AUTO_POSITION=1, SOURCE_CONNECT_RETRY=1, GET_SOURCE_PUBLIC_KEY=1")
        cursor.execute("START REPLICA")


def wait_for_replica(source, replica):
    with source.connect(autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT @@gtid_executed")
        gtids = cursor.fetchone()[0]
    with replica.connect(autocommit=True) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT WAIT_FOR_EXECUTED_GTID_SET(%s, 60)", gtids)
        if cursor.fetchone()[0] != 0:
            cursor.execute("SHOW REPLICA STATUS")
            raise AssertionError(f"the replica does not get there: {cursor.fetchall()}")


def stage(run, roll, seconds, crash):
    run.stop, run.alter_id = False, 0
    threads = [threading.Thread(target=run.writer, args=(number,)) for number in (1, 2, 3)]
    threads += [threading.Thread(target=work) for work in (run.alterer, run.killer, run.reader)]
    for thread in threads:
        thread.start()
    time.sleep(seconds)
    if crash:
        run.server.stop(cohort.signal.SIGKILL)
        run.stop = True
        for thread in threads:
            thread.join()
        run.server.start()
        return
    run.stop = True
    for thread in threads:
        thread.join()


class Altering(threading.Thread):
    """An ALTER TABLE of a session of its own."""

    def __init__(self, server, statement, wait=60):
        super().__init__()
        self.connection = server.connect(database="d", autocommit=True)
        self.connection.cursor().execute(f"SET lock_wait_timeout = {wait}")
        self.id, self.statement, self.error = self.connection.thread_id(), statement, None
        self.start()

    def run(self):
        try:
            self.connection.cursor().execute(self.statement)
        except pymysql.err.MySQLError as error:
            self.error = error.args

    def result(self):
        """What it got in the end."""
        self.join()
        self.connection.close()
        return self.error


def until(what, ask, seconds=60):
    """Asks until there is an answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = ask()
        if found:
            return found
        time.sleep(0.002)
    raise AssertionError(f"never seen: {what}")


def one_by_one(server):
    """What others see of an ALTER, and what LOCK, KILL and open transactions do."""
    own = server.connect(autocommit=True)
    cursor = own.cursor()

    def ask(statement):
        cursor.execute(statement)
        return cursor.fetchall()

    ask("CREATE DATABASE d")
    ask("USE d")
    ask("CREATE TABLE big (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(100))")
    ask("INSERT INTO big (a, b) VALUES (1, REPEAT('x', 90))")
    for power in range(17):
        ask(f"INSERT INTO big (id, a, b) SELECT id + {2 ** power}, id, b FROM big")
    before = ask("SHOW CREATE TABLE big")

    # An open transaction is waited for, for so long, and named.
    other = server.connect(database="d", autocommit=False)
    other.cursor().execute("UPDATE big SET a = 0 WHERE id = 5")
    got = Altering(server, "ALTER TABLE big ADD INDEX a (a)", wait=1).result()
    assert got and got[0] == 1205 and "UPDATE" in got[1], got
    assert ask("SHOW CREATE TABLE big") == before
    altering = Altering(server, "ALTER TABLE big ADD INDEX a (a)")
    locks = ("SELECT lock_type, lock_status FROM performance_schema.metadata_locks WHERE object_name = 'big' "
             f"AND owner_thread_id = {altering.id}")
    until("the wait for the open transaction", lambda: ("EXCLUSIVE", "PENDING") in ask(locks))
    assert ("SHARED_UPGRADABLE", "GRANTED") in ask(locks)
    other.cursor().execute("UPDATE big SET a = -1 WHERE id = 6")
    other.commit()
    assert altering.result() is None
    assert ask("SELECT id FROM big FORCE INDEX (a) WHERE a < 1") == ((6,), (5,))

    # Its progress is told, and KILL leaves the table as it was.
    for action, stage in (("ADD INDEX b (b)", "%read PK%"), ("ADD COLUMN c INT DEFAULT 3 FIRST, ALGORITHM=INPLACE", "%copy to tmp table")):
        before = ask("SHOW CREATE TABLE big")
        altering = Altering(server, f"ALTER TABLE big {action}")
        seen = until(f"the progress of {action}", lambda: ask(
            "SELECT work_completed, work_estimated FROM performance_schema.events_stages_current WHERE "
            f"thread_id = {altering.id} AND event_name LIKE '{stage}' AND work_completed > 0"))
        assert seen[0][0] <= seen[0][1] == 131072, seen
        ask(f"UPDATE big SET b = 'changed meanwhile' WHERE id = {1 + seen[0][0] % 7}")
        ask(f"KILL QUERY {altering.id}")
        got = altering.result()
        assert got and got[0] == 1317, got
        assert ask("SHOW CREATE TABLE big") == before
        assert ask("CHECK TABLE big")[0][3] == "OK"
        assert not ask("SELECT * FROM performance_schema.events_stages_current")

    # Rows that only change their shape are there at once, and stay as they are while they are moved.
    ask("ALTER TABLE big ADD COLUMN c INT DEFAULT 3 FIRST, ALGORITHM=INSTANT")
    for turn in range(8):
        assert ask("SELECT COUNT(*), MIN(c), MAX(c) FROM big") == ((131072, 3, 3 + bool(turn)),)
        ask(f"UPDATE big SET c = 4 WHERE id = {1 + 997 * turn}")
        assert ask(f"SELECT c FROM big WHERE id IN ({1 + 997 * turn}, {2 + 997 * turn}) ORDER BY id") == ((4,), (3,))
    ask("ALTER TABLE big DROP COLUMN c, ALGORITHM=INSTANT")
    assert ask("SHOW CREATE TABLE big") == before
    assert ask("CHECK TABLE big")[0][3] == "OK"

    # What LOCK says is obeyed.
    for lock, reads, held in (("SHARED", True, "SHARED_NO_WRITE"), ("EXCLUSIVE", False, "EXCLUSIVE")):
        altering = Altering(server, f"ALTER TABLE big FORCE, LOCK={lock}")
        locks = ("SELECT 1 FROM performance_schema.metadata_locks WHERE object_name = 'big' AND "
                 f"owner_thread_id = {altering.id} AND lock_type = '{held}' AND lock_status = 'GRANTED'")
        until(f"LOCK={lock}", lambda: ask(locks))
        ask("SET lock_wait_timeout = 1")
        for statement, goes_on in (("SELECT a FROM big WHERE id = 1", reads), ("UPDATE big SET a = 7 WHERE id = 1", False)):
            try:
                ask(statement)
            except pymysql.err.OperationalError as error:
                assert error.args[0] == 1205 and not goes_on, error
            else:
                # What waits goes on when the ALTER has ended.
                assert goes_on or not ask(locks), (lock, statement)
        ask("SET lock_wait_timeout = DEFAULT")
        assert altering.result() is None
    own.close()
    other.close()


def main():
    with cohort.Cohort() as server:
        one_by_one(server)
    roll = random.Random(SEED)
    print(f"online_ddl: seed {SEED}", flush=True)
    with cohort.Cohort("--server-id", "1") as source, cohort.Cohort("--server-id", "2") as replica:
        fill(source)
        replica_of(source, replica)
        run = Run(source, roll)
        stages = 6
        for number in range(stages):
            stage(run, roll, SECONDS / stages, crash=number % 3 == 1)
            assert not run.failures, run.failures
            here = check(run, f"seed {SEED}, stage {number}")
        wait_for_replica(source, replica)
        with replica.connect(database="d", autocommit=True) as connection:
            there = rows(connection, "t")
            with source.connect(database="d", autocommit=True) as own:
                assert rows(own, "t") == there == here, "the replica has other rows"
                for table in ("child", "bare"):
                    assert rows(own, table) == rows(connection, table), f"the replica has other rows of {table}"
            cursor = connection.cursor()
            cursor.execute("CHECK TABLE t, bare, child")
            assert {row[3] for row in cursor.fetchall()} == {"OK"}
        assert run.altered > 20 and run.committed > 100, (run.altered, run.committed)
        print(f"{run.altered} ALTERs made, {run.refused.total()} refused {dict(run.refused)}, {run.killed} kills, {run.committed} transactions, "
              f"longest read {run.longest * 1000:.0f} ms")


if __name__ == "__main__":
    main()
