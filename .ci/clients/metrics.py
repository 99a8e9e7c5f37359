#!/usr/bin/env python3
"""The server's port for Prometheus: every line is one that Prometheus reads, and the values are those of SHOW GLOBAL
STATUS.

  .ci/clients/metrics.py
"""

import http.client
import re
import socket
import threading
import time

from cohort import Cohort, free_port

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf'({NAME})(?:\{{((?:{NAME}="(?:[^"\\\n]|\\.)*",?)*)\}})? (\S+)')
LABEL = re.compile(rf'({NAME})="((?:[^"\\]|\\.)*)"')
# What must be told under which name in SHOW GLOBAL STATUS, in how many of its units.
SAME = {"cohort_log_commits_total": ("Cohort_log_commits", 1), "cohort_log_groups_total": ("Cohort_log_groups", 1),
        "cohort_log_fsyncs_total": ("Cohort_log_fsyncs", 1), "cohort_connections_total": ("Connections", 1),
        "cohort_connections": ("Threads_connected", 1), "cohort_row_lock_waits_total": ("Innodb_row_lock_waits", 1),
        "cohort_row_lock_timeouts_total": ("Innodb_row_lock_timeouts", 1),
        "cohort_checkpoints_total": ("Cohort_checkpoints", 1), "cohort_delta_versions": ("Cohort_delta_versions", 1),
        "cohort_rows_examined_total": ("Cohort_rows_examined", 1), "cohort_log_group_commits_sum":
        ("Cohort_log_commits", 1), "cohort_log_fsync_duration_seconds_count": ("Cohort_log_fsyncs", 1),
        'cohort_commands_total{command="insert"}': ("Com_insert", 1),
        'cohort_commands_total{command="commit"}': ("Com_commit", 1),
        'cohort_row_operations_total{operation="write"}': ("Handler_write", 1),
        'cohort_scheduler_threads{group="statements"}': (None, 0)}
NEEDED = ("cohort_info", "cohort_statements_total", "cohort_scheduler_slots", "cohort_scheduler_queued",
          "cohort_wait_duration_seconds", "cohort_log_fsync_duration_seconds", "cohort_log_group_commits",
          "cohort_delta_bytes", "process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds")


def listening(port):
    """It begins a moment after the server lets clients in."""
    until = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < until, "the port for metrics does not answer"
            time.sleep(0.02)


def ask(port, path="/metrics", method="GET", **headers):
    """The status, the kind and the body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        reply = connection.getresponse()
        return reply.status, reply.headers["content-type"], reply.read().decode()
    finally:
        connection.close()


def scrape(port, **headers):
    """Families by name, and values by name and labels; every line is looked at."""
    status, kind, text = ask(port, **headers)
    assert (status, kind) == (200, "text/plain; version=0.0.4"), (status, kind)
    assert text.endswith("\n")
    families, values, described, family = {}, {}, None, None
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, described, words = line.split(" ", 3)
            assert len(words) > 5, line
        elif line.startswith("# TYPE "):
            _, _, family, what = line.split(" ")
            assert family == described and family not in families, line
            assert what in ("counter", "gauge", "histogram"), line
            families[family] = what
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            name, labels, value = found.groups()
            ends = ("_bucket", "_sum", "_count") if families[family] == "histogram" else ("",)
            assert name in [family + end for end in ends], (family, line)
            key = name + (f"{{{labels}}}" if labels else "")
            assert key not in values, line
            values[key] = float(value)
    for name, what in families.items():
        own = name.startswith(("cohort_", "process_"))
        assert own or name.startswith("dtm_"), name
        assert not own or (what == "counter") == name.endswith("_total"), name
    histograms(values)
    return families, values


def histograms(values):
    """Buckets grow to the count."""
    buckets = {}
    for key, value in values.items():
        name, _, labels = key.partition("{")
        if name.endswith("_bucket"):
            of = dict(LABEL.findall(labels))
            bound = float(of.pop("le"))
            buckets.setdefault((name.removesuffix("_bucket"), tuple(of.items())), []).append((bound, value))
    assert len(buckets) > 8, buckets.keys()
    for (name, labels), found in buckets.items():
        assert found == sorted(found) and [v for _, v in found] == sorted(v for _, v in found), (name, labels, found)
        labels = "{" + ",".join(f'{key}="{value}"' for key, value in labels) + "}" if labels else ""
        assert found[-1] == (float("inf"), values[f"{name}_count{labels}"]), (name, labels)


def work(server):
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE DATABASE IF NOT EXISTS met")
        cursor.execute("CREATE TABLE IF NOT EXISTS met.t (a INT PRIMARY KEY AUTO_INCREMENT, b INT)")
        for n in range(20):
            cursor.execute("BEGIN")
            cursor.execute("INSERT INTO met.t (b) VALUES (%s)", n)
            cursor.execute("COMMIT")
        cursor.execute("SELECT COUNT(*) FROM met.t WHERE b > 5")


def row_lock_wait(server):
    with server.connect(autocommit=True) as one, server.connect(autocommit=True) as other:
        with one.cursor() as holder, other.cursor() as waiter:
            holder.execute("BEGIN")
            holder.execute("UPDATE met.t SET b = 1 WHERE a = 1")
            waiter.execute("SET innodb_lock_wait_timeout = 1")
            try:
                waiter.execute("UPDATE met.t SET b = 1 WHERE a = 1")
                raise AssertionError("the lock was not waited for")
            except Exception as error:
                assert error.args[0] == 1205, error
            one.rollback()


def same_as_status(server, port):
    """Nothing goes on between the two looks but the looks."""
    with server.connect() as connection, connection.cursor() as cursor:
        # Everybody else has gone.
        until = time.monotonic() + 10
        while True:
            cursor.execute("SHOW GLOBAL STATUS")
            status = dict(cursor.fetchall())
            if status["Threads_connected"] == "1":
                break
            assert time.monotonic() < until, status["Threads_connected"]
        families, values = scrape(port)
        for key, (name, units) in SAME.items():
            assert name is None or values[key] == int(status[name]) / units, (key, values[key], status[name])
        assert values['cohort_scheduler_threads{group="statements"}'] >= 1
        for name in NEEDED:
            assert name in families, name
        waited = values["cohort_row_lock_wait_seconds_total"]
        assert 0.9 < waited < 10, waited
        assert values["cohort_log_commits_total"] > 20 and values['cohort_commands_total{command="insert"}'] == 20
        assert values["cohort_log_fsync_duration_seconds_sum"] > 0
        cursor.execute("SELECT @@max_connections, @@innodb_buffer_pool_size")
        limits = tuple(values[name] for name in ("cohort_connections_limit", "cohort_buffer_pool_limit_bytes"))
        assert cursor.fetchone() == limits, limits
        assert values["process_resident_memory_bytes"] > 1 << 20
    print(f"metrics: {len(families)} families, {len(values)} values", flush=True)


def never_back(server, port):
    """No counter goes back while sessions come and go."""
    ended = threading.Event()

    def come_and_go():
        while not ended.is_set():
            with server.connect() as connection, connection.cursor() as cursor:
                for _ in range(20):
                    cursor.execute("SELECT 1")

    threads = [threading.Thread(target=come_and_go) for _ in range(4)]
    for thread in threads:
        thread.start()
    families, before = scrape(port)
    looks, until = 0, time.monotonic() + 3
    try:
        while time.monotonic() < until:
            _, now = scrape(port)
            looks += 1
            for key, value in before.items():
                if families.get(key.partition("{")[0]) == "counter":
                    assert now[key] >= value, (key, value, now[key])
            before = now
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    print(f"metrics: no counter went back in {looks} looks", flush=True)


def strangers(port):
    """Web pages are not answered, as by the coordinator."""
    for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}):
        assert ask(port, **headers)[0] == 403, headers
    assert ask(port, Host=f"localhost:{port}")[0] == 200
    assert ask(port, Host="")[0] == 403
    assert ask(port, method="HEAD")[::2] == (200, "")
    assert [ask(port, path)[0] for path in ("/", "/metrics/x", "/api/metrics")] == [404] * 3
    assert ask(port, method="POST")[0] == 405
    print("metrics: who is not answered", flush=True)


def with_token(port):
    """With a token it may be asked from anywhere, under any name, by who has the token."""
    flags = ("--metrics-port", str(port), "--metrics-address", "0.0.0.0")
    try:
        with Cohort(*flags):
            raise AssertionError("it listens everywhere without a token")
    except RuntimeError as error:
        assert "without a token" in str(error), error
    try:
        with Cohort("--metrics-address", "127.0.0.1"):
            raise AssertionError("it has an address and no port")
    except RuntimeError as error:
        assert "give metrics-port" in str(error), error
    with Cohort(*flags, "--metrics-token", "secret", "--coordinator", "on", "--coordinator-port",
                str(free_port())) as server:
        listening(port)
        assert ask(port)[0] == ask(port, Authorization="Bearer wrong")[0] == 401
        families, values = scrape(port, Authorization="Bearer secret", Host="db.example")
        assert values["cohort_transactions_driven"] == 0 and "dtm_server_process_total" in families
        assert server.stop() == 0
    print("metrics: a token; the coordinator's counters are there, too", flush=True)


def of_a_replica(source, port):
    with Cohort("--metrics-port", str(port), "--server-id", "2") as replica, \
            replica.connect(autocommit=True) as connection, connection.cursor() as cursor:
        listening(port)
        assert "cohort_replica_receiving" not in scrape(port)[0]
        cursor.execute("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_USER = 'root', "
                       f"SOURCE_PORT = {source.port}, SOURCE_AUTO_POSITION = 1")
        assert scrape(port)[1]["cohort_replica_receiving"] == 0
        assert "cohort_replica_behind_seconds" not in scrape(port)[1]
        cursor.execute("START REPLICA")
        until = time.monotonic() + 20
        while scrape(port)[1].get("cohort_replica_behind_seconds") != 0 \
                or scrape(port)[1]["cohort_replica_receiving"] != 1:
            assert time.monotonic() < until, "it does not catch up"
            time.sleep(0.1)
        assert scrape(port)[1]["cohort_replica_applying"] == 1
        cursor.execute("STOP REPLICA")
        assert scrape(port)[1]["cohort_replica_applying"] == 0
        assert replica.stop() == 0
    print("metrics: of a replica", flush=True)


def main():
    port = free_port()
    with Cohort("--metrics-port", str(port)) as server:
        listening(port)
        work(server)
        row_lock_wait(server)
        same_as_status(server, port)
        never_back(server, port)
        strangers(port)
        of_a_replica(server, free_port())
        assert server.stop() == 0
    with_token(port)


if __name__ == "__main__":
    main()
