"""What is measured once per server and from outside, not in rounds."""

import os
import signal
import subprocess
import tempfile
import time

from workloads import WORKLOADS

# How long changes are made for a recovery, at least.
RECOVERY_S = 20


def resident_mib(server):
    """Resident memory of the server's process."""
    with open(f"/proc/{server.pid()}/status") as status:
        line = next(line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def load_and_read(server, rows):
    """Loads the table and reads all of it; rows/s of loading, and memory afterwards."""
    seconds = server.load(rows)
    server.sql("SELECT COUNT(*), SUM(k), MAX(c), MAX(pad) FROM sbtest1")
    return {"bulk_insert": rows / seconds, "memory": resident_mib(server)}


def create_index(server, rows):
    """Rows/s of building the secondary index."""
    begun = time.monotonic()
    server.sql("CREATE INDEX k_1 ON sbtest1 (k)")
    return {"create_index": rows / (time.monotonic() - begun)}


def fsyncs(server, seconds, rows):
    """fsyncs per commit of 64 clients that insert, counted by the kernel."""
    if hasattr(os, "geteuid") and os.geteuid() != 0:
        return {}
    with tempfile.NamedTemporaryFile("r") as counts:
        trace = subprocess.Popen(
            ["strace", "-f", "-c", "-q", "-o", counts.name,
             "-e", "trace=fsync,fdatasync,sync_file_range,msync", "-p", str(server.pid())],
            stderr=subprocess.DEVNULL)
        time.sleep(1)
        rate = server.rate(WORKLOADS["insert_64"], seconds, rows)
        trace.send_signal(signal.SIGINT)
        trace.wait()
        calls = 0
        for line in counts:
            fields = line.split()
            if fields and fields[-1] in ("fsync", "fdatasync", "sync_file_range", "msync"):
                calls += int(fields[3])
    return {"fsyncs": calls / (rate * seconds)}


def recovery(server, seconds, rows):
    """Row changes/s that a start after kill -9 replays: single-row updates, then the kill.

    No checkpoint comes between, and there are so many changes that the start itself, and what the
    disk still has to write for the killed server, weigh little."""
    if server.name != "cohort":
        return {}
    server.stop()
    server.start("--cohort-delta-size", "2G")
    seconds = max(seconds, RECOVERY_S)
    rate = server.rate(WORKLOADS["update_non_index_64"], seconds, rows)
    server.stop(signal.SIGKILL)
    begun = time.monotonic()
    server.start()
    server.sql("SELECT COUNT(*) FROM sbtest1 WHERE id < 10")
    return {"recovery": rate * seconds / (time.monotonic() - begun)}
