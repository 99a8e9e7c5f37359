"""The experiments of `cohort lab` measure: short runs against a given server and their own."""

import json
import os
import pathlib
import subprocess
import tempfile

from cohort import BINARY, Cohort

WORKLOADS = ["oltp_point_select", "oltp_update_non_index", "oltp_update_non_index_trx",
             "oltp_read_write"]
ROWS = 2000


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
        return done.stdout, json.loads(path.read_text())


def dtm():
    """`cohort lab dtm` and `lab backlog`: what is counted is what was done."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        done = run("dtm", "--users", "500", "--rounds", "1", "--seconds", "1", "--warmup", "0.2",
                   "--alone", "4", "--json", path, "--columns", "none,0-sql,2-sql,2-sql-barrier,10-sql,10-sql-barrier,empty,http,"
                   "2-sql-limit")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "money conserved, no transfer half done" in done.stdout, done.stdout
        runs = {one["column"]: one for one in json.loads(path.read_text())["measurements"]}
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


def main():
    dtm()
    with Cohort("--max-connections", "50") as server:
        target = f"ci=mysql://root@127.0.0.1:{server.port}/lab?pid={server.process.pid}"
        text, found = lab("--target", target, "--connections", "4,200")
        runs = found["measurements"]
        assert not found["gaps"], found["gaps"]
        assert [w for w in WORKLOADS if f"\n{w}: TPS" in text] == WORKLOADS, text
        assert {run["workload"] for run in runs} == set(WORKLOADS)
        assert {run["connections"] for run in runs} == {4, 200}
        assert all(run["tps"] > 0 and run["server_us"] is not None for run in runs), runs
        per_event = {run["workload"]: run["qps"] / run["tps"] for run in runs}
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

    _, found = lab("--connections", "8", "--workloads", "oltp_point_select")
    assert found["measurements"], "its own server"

    nobody = run("thread-pool", "--target", "mysql://127.0.0.1:1")
    assert nobody.returncode == 1 and "refused" in nobody.stderr, nobody.stderr
    print("lab: ok")


if __name__ == "__main__":
    main()
