#!/usr/bin/env python3
"""TPC-H's 22 queries: the answers are MySQL's, and the plans those of .ci/measure/tpch/plans.txt.

  .ci/clients/tpch.py [--write]

--write keeps the plans as they are now. The figures are those of .ci/measure/tpch/run: here the tables are small.
"""

import contextlib
import pathlib
import subprocess
import sys
import tempfile

from cohort import Cohort, free_port
from logs import PEERS
from replicas import MySQL
from sources import Source

TPCH = pathlib.Path(__file__).resolve().parents[2] / ".ci/measure/tpch"
KEPT = TPCH / "plans.txt"


def main():
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Cohort())
        room = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tpch-")))
        servers = [f"cohort={server.port},root"]
        if (PEERS / "usr/sbin/mysqld").exists():
            peer = Source(MySQL(room, PEERS), room, free_port())
            stack.callback(peer.end)
            servers.append(f"mysql={peer.port},root")
        else:
            print("tpch: no MySQL to compare the answers with")
        subprocess.run([sys.executable, TPCH / "run", *servers, "--scale", "0.01", "--rounds", "1",
                        "--data", room / "data", "--plans", room / "plans"], check=True)
        plans = (room / "plans").read_text()
        if "--write" in sys.argv:
            KEPT.write_text(plans)
        # A machine that stands still while conditions are tried has fewer rows to go by: once more, then.
        for _ in range(3):
            changed = [f"- {kept}\n+ {now}" for kept, now in
                       zip(KEPT.read_text().splitlines(), plans.splitlines(), strict=True) if kept != now]
            if not changed:
                break
            assert server.stop() == 0
            server.start()
            subprocess.run([sys.executable, TPCH / "run", servers[0], "--no-load", "--queries", "0",
                            "--plans", room / "plans"], check=True, stdout=subprocess.DEVNULL)
            plans = (room / "plans").read_text()
        assert not changed, "plans have changed (--write keeps them):\n" + "\n".join(changed)
        assert server.stop() == 0


if __name__ == "__main__":
    main()
