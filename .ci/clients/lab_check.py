"""The experiments of `cohort lab` measure: short runs against a given server, their own, and MariaDB.

Whether figures are there and fit one another is checked, not how large they are.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cohort import BINARY, ROOT, TARGET, Cohort, free_port
from sources import Source

sys.path.insert(0, str(ROOT / "differ"))
from suites import MariaDB  # noqa: E402

WORKLOADS = ["oltp_point_select", "oltp_update_non_index", "oltp_update_non_index_trx",
             "oltp_read_write"]
ROWS = 2000
MODES = ["no transaction", "BEGIN, COMMIT", "autocommit=0, COMMIT", "READ ONLY, COMMIT"]
EXPERIMENTS = ["tx-modes", "fsync", "dtm", "search", "workloads", "thread-pool", "group-commit", "clocks"]


def data_of(report, name):
    """What an experiment has measured."""
    assert report["format"] == 1 and report["environment"]["sync_us"] > 0, report["environment"]
    [section] = [one for one in report["experiments"] if one["experiment"] == name]
    return section["data"]


def run(*arguments):
    """Runs an experiment, which must leave nothing behind."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run([BINARY, "lab", *arguments], capture_output=True, text=True,
                              check=False, env={**os.environ, "TMPDIR": directory})
        assert not os.listdir(directory), f"its data is gone: {os.listdir(directory)}"
    return done


def lab(*arguments):
    """Runs the experiment; returns what it printed and what it wrote."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        done = run("thread-pool", "--rounds", "1", "--seconds", "1", "--warmup", "0.2", "--rows",
                   str(ROWS), "--json", path, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, data_of(json.loads(path.read_text()), "thread-pool")


def dtm():
    """`cohort lab dtm` and `lab backlog`: what is counted is what was done."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        done = run("dtm", "--users", "500", "--rounds", "1", "--seconds", "1", "--warmup", "0.2",
                   "--alone", "4", "--json", path, "--columns", "none,0-sql,2-sql,2-sql-barrier,10-sql,10-sql-barrier,empty,http,"
                   "2-sql-limit")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "money conserved, no transfer half done" in done.stdout, done.stdout
        runs = {one["column"]: one for one in data_of(json.loads(path.read_text()), "dtm")["measurements"]}
    for column, statements in [("none", 4), ("0-sql", 0), ("2-sql", 4), ("2-sql-barrier", 6),
                               ("10-sql", 20), ("10-sql-barrier", 22), ("2-sql-limit", 4)]:
        counted = runs[column]["statements_per_s"] / runs[column]["global_tps"]
        # Those under way at the begin and at the end are counted in part.
        assert abs(counted - statements) <= 0.2 * statements, (column, counted)
    assert runs["empty"]["global_tps"] > 0 and runs["http"]["global_tps"] > 0, runs

    done = run("backlog", "--transactions", "3000", "--seconds", "4")
    assert done.returncode == 0, done.stdout + done.stderr
    asked = [line for line in done.stdout.splitlines() if "questions answered" in line]
    assert asked and float(asked[0].split()[-1].replace(",", "")) > 0, done.stdout


def check_page(page, report):
    """The page shows all there is, and needs nothing else."""
    assert page.startswith("<!DOCTYPE html>") and page.endswith("</html>"), page[:99]
    for outside in ["<script", "<link", "src=", "url(", "@import", 'href="http']:
        assert outside not in page, outside
    plots = sum(len(one["plots"]) for one in report["experiments"])
    assert page.count("<svg") == plots > 0, plots
    for experiment in EXPERIMENTS:
        assert f'id="{experiment}"' in page, experiment


def check_modes(found):
    """Servers count the transactions that there are, and Cohort advises against all of them."""
    assert not found["gaps"], found["gaps"]
    targets = {one["target"] for one in found["measurements"]}
    assert targets == {"cohort", "limit", "mariadb"}, targets
    for one in found["measurements"]:
        round_trips = one["round_trips_per_s"] / one["lookups_per_s"]
        wanted = [1, 3, 2, 3][MODES.index(one["mode"])]
        assert abs(round_trips - wanted) < 0.2 * wanted, one
        if one["target"] == "limit":
            continue
        selects, begins, commits = one["counted"]
        in_transactions = 0 if one["mode"] == MODES[0] else selects
        # What was under way at the end was rolled back.
        slack = one["clients"]
        assert abs(commits - in_transactions) <= slack, one
        assert abs(begins - in_transactions * (wanted == 3)) <= slack, one
        if one["target"] == "cohort":
            assert abs(one["advised"] - in_transactions) <= slack, one
    lines = {mode: lines for server, mode, lines in found["slow_log"] if server == "cohort"}
    assert [len(lines[mode]) for mode in MODES] == [2, 6, 4, 6], lines
    assert lines[MODES[2]][1] == "COMMIT", lines


def check_workloads(found):
    """Each was measured on each server, and what was loaded is told."""
    assert not found["gaps"], found["gaps"]
    measured = {(one["target"], one["workload"]) for one in found["measurements"]}
    assert len(measured) == 9 and all(one["events_per_s"] > 0 for one in found["measurements"]), found
    assert {one["target"] for one in found["loaded"]} == {"cohort", "mariadb"}, found["loaded"]
    for one in found["loaded"]:
        assert one["rows_per_s"][0] > 0 and one["memory_bytes"] > 1 << 20, one


def workloads():
    """`cohort lab workloads`: all of them, with what they need, and a recovery."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        done = run("workloads", "--rows", str(ROWS), "--rounds", "1", "--seconds", "0.5", "--warmup", "0.5",
                   "--rest", "0", "--loads", "1", "--recovery", "1", "--json", path)
        assert done.returncode == 0, done.stdout + done.stderr
        found = data_of(json.loads(path.read_text()), "workloads")
    assert not found["gaps"], found["gaps"]
    assert len(found["measurements"]) == 21, found
    # Of the long ones none may end in time, where the server is slow.
    idle = {one["workload"] for one in found["measurements"] if one["events_per_s"] == 0}
    assert idle <= {"read_only_64", "read_write_64"}, found
    assert found["recovery"]["changes"] > 0 < found["recovery"]["seconds"], found["recovery"]
    unknown = run("workloads", "--workloads", "insert_7")
    assert unknown.returncode == 2 and "there are point_select_64" in unknown.stderr, unknown.stderr


def check_commits(found):
    """What is counted inside, in the log and outside is the same."""
    has_strace = shutil.which("strace") is not None
    for gap in found["gaps"]:
        assert not has_strace and "strace" in gap, gap
    for one in found["measurements"]:
        load = one["load"]["clients"] * one["load"]["each"]
        inside, outside, logged = one["inside"], one["outside"], one["logged"]
        assert one["traced"] == (outside is not None) or not has_strace, one
        if one["target"] == "limit":
            continue
        assert logged["transactions"] == inside["commits"] == load, one
        assert logged["groups"] == inside["groups"] <= load, one
        syncs = inside["files"]["binlog.*"]["syncs"]
        if outside:
            assert outside["files"]["binlog.*"]["syncs"] == syncs, one
            assert sum(outside["histogram"]) == outside["syncs"], one
        if one["target"] == "cohort":
            # One sync for each group, and a few that make room in the file for those to come.
            assert inside["log_syncs"] == inside["groups"], one
            assert 0 <= syncs - inside["groups"] <= 10 + inside["files"]["binlog.*"]["bytes"] / 2**20, one
            assert sum(inside["histogram"]) == syncs, one


def check_clocks(report):
    """Both servers have done the same, as often, and one of them has performance_schema."""
    data = data_of(report, "clocks")
    assert not data["gaps"], data["gaps"]
    runs = {(one["workload"], one["clients"], one["round"], one["server"]): one for one in data["measurements"]}
    assert len(runs) == len(data["measurements"]) == len(WORKLOADS[:3]) * 2 * 2, sorted(runs)
    assert {key[0] for key in runs} == set(WORKLOADS[:3]) and {key[3] for key in runs} == {"with", "without"}, sorted(runs)
    assert all(one["events"] > 0 and one["server_s"] > 0 for one in runs.values()), runs
    [section] = [one for one in report["experiments"] if one["experiment"] == "clocks"]
    assert len(section["findings"]) == 6 and all("performance_schema costs" in one for one in section["findings"])
    assert [one["name"] for one in section["servers"]] == ["with", "without"], section["servers"]


def everything():
    """`cohort lab all` beside MariaDB, and `lab compare`."""
    with tempfile.TemporaryDirectory(prefix="lab-") as directory:
        directory = pathlib.Path(directory)
        os.chmod(directory, 0o755)
        peer = Source(MariaDB(TARGET / "mysqltest", pathlib.Path("/")), directory, free_port(),
                      "--server-id=9", "--log-bin=binlog", "--binlog-format=ROW", "--sync-binlog=1",
                      "--performance-schema=ON", "--performance-schema-instrument=wait/io/file/%=ON")
        try:
            peer.run("CREATE USER lab@'127.0.0.1'")
            peer.run("GRANT ALL ON *.* TO lab@'127.0.0.1'")
            target = f"mariadb=mysql://lab@127.0.0.1:{peer.port}/lab?pid={peer.process.pid}"
            paths = [directory / "report.json", directory / "report.html"]
            begun = time.monotonic()
            done = run("all", "--quick", "--seconds", "0.2", "--rounds", "1", "--rows", str(ROWS),
                       "--trace", "--target", "cohort", "--target", "limit", "--target", target,
                       "--json", paths[0], "--html", paths[1])
            assert done.returncode == 0, done.stdout + done.stderr
            print(f"lab: all of it in {time.monotonic() - begun:.0f} s", flush=True)
        finally:
            peer.end()
        report = json.loads(paths[0].read_text())
        assert [one["experiment"] for one in report["experiments"]] == EXPERIMENTS, report
        for one in report["experiments"]:
            assert one["findings"] and one["tables"] and one["title"] in done.stdout, one
        check_page(paths[1].read_text(), report)
        check_modes(data_of(report, "tx-modes"))
        check_workloads(data_of(report, "workloads"))
        check_commits(data_of(report, "fsync"))
        check_commits(data_of(report, "group-commit"))
        check_clocks(report)
        assert not data_of(report, "thread-pool")["gaps"], report
        same = run("compare", paths[0], paths[0])
        assert same.returncode == 0 and "within the rounds' spread" in same.stdout, same
        paths[1].write_text("{}")
        wrong = run("compare", *paths)
        assert wrong.returncode == 1 and "no report of cohort lab" in wrong.stderr, wrong.stderr


def slow_disk():
    """On a disk whose syncs take 5 ms longer, none takes less; and it goes with the run."""
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
        print("lab: no slow disk, which needs root and /dev/fuse", flush=True)
        return
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        done = run("fsync", "--clients", "4", "--inserts", "20", "--rounds", "1", "--fsync-delay",
                   "5ms", "--target", "cohort", "--target", "limit", "--json", path)
        assert done.returncode == 0, done.stdout + done.stderr
        runs = {one["target"]: one for one in data_of(json.loads(path.read_text()), "fsync")["measurements"]}
    histogram = runs["cohort"]["inside"]["histogram"]
    assert sum(histogram[:-1]) == 0 < histogram[-1], histogram
    # Each client's inserts come after one another.
    assert all(one["seconds"] > 20 * 0.005 for one in runs.values()), runs
    assert "take 5000 µs longer" in done.stdout, done.stdout


def interrupted(server, target):
    """Ctrl-C keeps what is done, and puts variables back."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        process = subprocess.Popen(
            [BINARY, "lab", "tx-modes", "--target", target, "--clients", "70", "--rounds", "50",
             "--seconds", "0.2", "--warmup", "0.1", "--rows", str(ROWS), "--json", path],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until = time.monotonic() + 60
        while not path.exists() or not path.read_text().endswith("\n"):
            assert process.poll() is None and time.monotonic() < until, process.communicate()
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        text, errors = process.communicate(timeout=9)
        assert process.returncode == 1 and "what was done is kept" in errors, errors
        assert "Lookups by 70 clients" in text, text
        assert data_of(json.loads(path.read_text()), "tx-modes")["measurements"]
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT @@GLOBAL.max_connections")
        assert cursor.fetchone() == (50,), "what was raised is put back"


def main():
    everything()
    slow_disk()
    workloads()
    dtm()
    with Cohort("--max-connections", "50") as server:
        target = f"ci=mysql://root@127.0.0.1:{server.port}/lab?pid={server.process.pid}"
        text, found = lab("--target", target, "--connections", "4,200")
        runs = found["measurements"]
        assert not found["gaps"], found["gaps"]
        assert [w for w in WORKLOADS if f"\n{w}: TPS" in text] == WORKLOADS, text
        assert {run["workload"] for run in runs} == set(WORKLOADS)
        assert {run["connections"] for run in runs} == {4, 200}
        # Of the long ones of 200 clients none may end within a second, where the server is slow.
        ended = [run for run in runs if run["tps"] > 0]
        assert all(run in ended or (run["workload"], run["connections"]) == ("oltp_read_write", 200)
                   for run in runs), runs
        assert all(run["server_us"] is not None for run in runs), runs
        per_event = {run["workload"]: run["qps"] / run["tps"] for run in ended}
        assert abs(per_event["oltp_point_select"] - 1) < 0.1, per_event
        assert abs(per_event["oltp_update_non_index_trx"] - 3) < 1, per_event
        with server.connect(database="lab") as connection, connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*), MAX(LENGTH(c)), MAX(LENGTH(pad)) FROM sbtest1")
            assert cursor.fetchone() == (ROWS, 119, 59), "every transaction was whole"
            cursor.execute("SELECT @@GLOBAL.max_connections")
            assert cursor.fetchone() == (50,), "what was raised is put back"

        _, found = lab("--target", target, "--connections", "4", "--rate", "200",
                       "--workloads", "oltp_point_select")
        assert all(100 < run["tps"] < 300 for run in found["measurements"]), found
        interrupted(server, target)

    _, found = lab("--connections", "8", "--workloads", "oltp_point_select")
    assert found["measurements"], "its own server"

    nobody = run("thread-pool", "--target", "mysql://127.0.0.1:1")
    assert nobody.returncode == 1 and "refused" in nobody.stderr, nobody.stderr
    print("lab: ok")


if __name__ == "__main__":
    main()
