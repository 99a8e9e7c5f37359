"""Debian's packages."""

import os
import subprocess
import sys


def installed(name):
    """Whether a package is there."""
    done = subprocess.run(["dpkg-query", "-W", "-f", "${db:Status-Status}", name],
                          capture_output=True, text=True, check=False)
    return done.stdout == "installed"


def install(*names):
    """Installs the packages that are missing, without questions, servers or databases."""
    missing = [name for name in names if not installed(name)]
    if not missing:
        return
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    wait = ["-o", "DPkg::Lock::Timeout=600"]
    subprocess.run(["debconf-set-selections"], check=True, text=True, env=quiet,
                   input="dbconfig-common dbconfig-common/dbconfig-install boolean false\n")
    subprocess.run(["apt-get", "update", "-q"], check=True, env=quiet, stdout=sys.stderr)
    subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", *wait, *missing],
                   check=True, env=quiet, stdout=sys.stderr)
