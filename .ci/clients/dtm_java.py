#!/usr/bin/env python3
"""Runs DTM's own Java client (dtm_java) against the coordinator."""

import pathlib
import subprocess
import sys

from cohort import Cohort, free_port

SOURCE = pathlib.Path(__file__).parent / "dtm_java" / "DtmCheck.java"


def main(classpath):
    http = str(free_port())
    with Cohort("--coordinator", "on", "--coordinator-port", http) as server:
        classes = pathlib.Path(classpath).read_text().strip()
        subprocess.run(["java", "-cp", classes, SOURCE, str(server.port), http], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
