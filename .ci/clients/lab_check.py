"""The experiments of `cohort lab` measure: short runs against a given server and their own."""

import glob
import json
import pathlib
import subprocess
import tempfile

from cohort import BINARY, Cohort

WORKLOADS = ["oltp_point_select", "oltp_update_non_index", "oltp_update_non_index_trx",
             "oltp_read_write"]
ROWS = 2000


def lab(*arguments):
    """Runs the experiment; returns what it printed and what it wrote."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        command = [BINARY, "lab", "thread-pool", "--rounds", "1", "--seconds", "1", "--warmup",
                   "0.2", "--rows", str(ROWS), "--json", path, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, json.loads(path.read_text())


def dtm():
    """`cohort lab dtm` and `lab backlog`: what is counted is what was done."""
    with tempfile.TemporaryDirectory() as directory:
        path = pathlib.Path(directory) / "results.json"
        done = subprocess.run(
            [BINARY, "lab", "dtm", "--users", "500", "--rounds", "1", "--seconds", "1",
             "--warmup", "0.2", "--alone", "4", "--json", path],
            capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "money conserved, no transfer half done" in done.stdout, done.stdout
        runs = {run["column"]: run for run in json.loads(path.read_text())["measurements"]}
    for column, statements in [("none", 4), ("0-sql", 0), ("2-sql", 4), ("2-sql-barrier", 6),
                               ("10-sql", 20), ("10-sql-barrier", 22)]:
        run = runs[column]
        counted = run["statements_per_s"] / run["global_tps"]
        # Those under way at the begin and at the end are counted in part.
        assert abs(counted - statements) <= 0.2 * statements, (column, counted)
    assert runs["empty"]["global_tps"] > 0 and runs["http"]["global_tps"] > 0, runs

    done = subprocess.run([BINARY, "lab", "backlog", "--transactions", "3000", "--seconds", "4"],
                          capture_output=True, text=True, check=False)
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
    assert not glob.glob(f"{tempfile.gettempdir()}/cohort-lab-*"), "its data is gone"

    nobody = subprocess.run([BINARY, "lab", "thread-pool", "--target", "mysql://127.0.0.1:1"],
                            capture_output=True, text=True, check=False)
    assert nobody.returncode == 1 and "refused" in nobody.stderr, nobody.stderr
    print("lab: ok")


if __name__ == "__main__":
    main()
