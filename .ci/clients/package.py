#!/usr/bin/env python3
"""The Debian package: built of the program under test, installed, run as its unit says, upgraded, removed
and purged, on this very machine. So it needs root and a machine that has no Cohort; it leaves none.

  package.py
"""

import grp
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

from cohort import BINARY, ROOT, free_port
from unit import Unit

SETTINGS, DATA = pathlib.Path("/etc/cohort/cohort.toml"), pathlib.Path("/var/lib/cohort")
SOCKET = "/run/cohort/mysql.sock"
UNIT = "/usr/lib/systemd/system/cohort.service"
# systemd-analyze's measure of what a service may do to the machine: 10 is everything, 100 of its units.
EXPOSURE_MAX = 20


def run(*command, **options):
    """Runs a command that must succeed; returns what it says."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def ask(statement, *flags, password=None):
    """What Debian's mysql client prints, over the socket."""
    environment = os.environ | ({"MYSQL_PWD": password} if password else {})
    return run("mysql", "--no-defaults", "--socket", SOCKET, "-uroot", "-N", *flags,
               "-e", statement, env=environment).strip()


def mode(path):
    """Mode, owner and group, as ls shows them."""
    status = path.stat()
    owner, group = pwd.getpwuid(status.st_uid).pw_name, grp.getgrgid(status.st_gid).gr_name
    return f"{status.st_mode & 0o7777:o} {owner}:{group}"


def installed(package):
    """What the package has brought."""
    # Images of containers leave pages out, of which the package has some.
    run("dpkg", "--path-include=/usr/share/*", "-i", package)
    assert mode(DATA) == "750 cohort:cohort", mode(DATA)
    assert mode(SETTINGS) == "640 root:cohort", mode(SETTINGS)
    user = pwd.getpwnam("cohort")
    assert user.pw_shell == "/usr/sbin/nologin" and user.pw_uid < 1000, user
    assert run("dpkg", "--verify", "cohort") == "", "what is there is what was packed"
    pages = list(pathlib.Path("/usr/share/man/man1").glob("cohort*.1.gz"))
    assert len(pages) > 25, f"{len(pages)} manual pages"
    run("bash", "-c", ". /usr/share/bash-completion/completions/cohort && complete -p cohort")
    if shutil.which("systemd-analyze"):
        run("systemd-analyze", "verify", "--recursive-errors=no",
            *([] if shutil.which("man") else ["--man=no"]), UNIT)
        # Versions differ in what they count.
        run("systemd-analyze", "security", "--offline=yes", f"--threshold={EXPOSURE_MAX}", UNIT)


def configure(port):
    """As an administrator does: takes the # away."""
    text = SETTINGS.read_text()
    for line, changed in (("#port = 3306", f"port = {port}"),
                          ("#coordinator = \"on\"", "coordinator = \"off\""),
                          ("#max_connections = 151", "max_connections = 200")):
        assert text.count(f"\n{line}\n") == 1, line
        text = text.replace(line, changed)
    SETTINGS.write_text(text)


def process_is_confined(unit):
    lines = pathlib.Path(f"/proc/{unit.process.pid}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    user = str(pwd.getpwnam("cohort").pw_uid)
    assert status["Uid"].split() == [user] * 4, status["Uid"]
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, status["CapBnd"]
    assert status["NoNewPrivs"] == "1" and (not unit.calls or status["Seccomp"] == "2")
    limits = pathlib.Path(f"/proc/{unit.process.pid}/limits").read_text()
    print(f"confined: user, capabilities{', calls' * bool(unit.calls)}{', files' * unit.mounts}; "
          f"{limits.split('Max open files')[1].split()[0]} files may be open")


def confinement_holds(unit):
    """What the sandbox forbids comes to nothing, or its server would prove nothing."""
    assert unit.probe("open('/var/lib/cohort/probe', 'w').close()") == 0
    pathlib.Path(DATA, "probe").unlink()
    forbidden = "import sys\ntry:\n    %s\nexcept OSError:\n    sys.exit(7)"
    if unit.mounts:
        # Where anybody else may write.
        assert unit.probe(forbidden % "open('/var/tmp/probe', 'w')") == 7
    if unit.calls:
        # 31 is SIGSYS.
        assert unit.probe("import os; os.chroot('/')") == -31
        assert unit.probe("import socket as s; s.socket(s.AF_NETLINK, s.SOCK_RAW)") == -31
    executable = "__import__('mmap').mmap(-1, 4096, prot=6)  # PROT_WRITE | PROT_EXEC"
    kernel = tuple(int(part) for part in os.uname().release.split(".")[:2])
    assert unit.probe(forbidden % executable) == (7 if kernel >= (6, 3) else 0)


def first_run(unit, log, backup):
    """A new data directory: a password, rows, a sort that needs the disk, a backup, in the sandbox."""
    confinement_holds(unit)
    unit.start(log)
    process_is_confined(unit)
    assert mode(pathlib.Path(SOCKET)) == "777 cohort:cohort"
    assert ask("SELECT @@datadir, @@max_connections") == f"{DATA}/\t200"
    ask("ALTER USER root@localhost IDENTIFIED BY 'a long one'")
    refused = subprocess.run(["mysql", "--no-defaults", "--socket", SOCKET, "-uroot", "-e", "DO 0"],
                             capture_output=True, text=True)
    assert "ERROR 1045" in refused.stderr, refused.stderr
    rows = ask("CREATE DATABASE d; CREATE TABLE d.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, s TEXT, "
               "KEY (s(20))); SET cte_max_recursion_depth = 100000; INSERT INTO d.t (s) "
               "WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 20000) "
               "SELECT SHA2(i, 512) FROM n; SET tmp_table_size = 65536, sort_buffer_size = 65536; "
               "SELECT COUNT(*) FROM (SELECT s FROM d.t ORDER BY REVERSE(s) LIMIT 15000) x; "
               "SELECT SUM(variable_value > 0) FROM performance_schema.session_status "
               "WHERE variable_name = 'Sort_merge_passes'; FLUSH BINARY LOGS", password="a long one")
    assert rows.split()[0] == "15000", rows
    run("cohort", "backup", "--socket", SOCKET, "--user", "root", backup,
        env=os.environ | {"MYSQL_PWD": "a long one"})
    run("cohort", "verify", backup)
    assert unit.stop() == 0
    for path in DATA.rglob("*"):
        assert path.stat().st_mode & 0o7 == 0, f"{path}: others may look into it"


def next_run(unit, log):
    unit.start(log)
    assert ask("SELECT COUNT(*) FROM d.t", password="a long one") == "20000"
    assert unit.stop() == 0


def check(package, room):
    log, port = room / "log", free_port()
    try:
        installed(package)
        configure(port)
        first_run(Unit(UNIT), log, room / "backup")
        # As an upgrade: settings that were changed, modes and data stay.
        installed_again = run("dpkg", "-i", package)
        assert "cohort" in installed_again and f"port = {port}" in SETTINGS.read_text()
        next_run(Unit(UNIT), log)
    except BaseException:
        if log.exists():
            print(f"--- the server's log ---\n{log.read_text()}", flush=True)
        raise
    run("dpkg", "-r", "cohort")
    assert not pathlib.Path("/usr/bin/cohort").exists() and not pathlib.Path(UNIT).exists()
    assert SETTINGS.exists() and (DATA / "cohort.base").exists(), "a removal leaves data and settings"
    run("dpkg", "-P", "cohort")
    assert not DATA.exists() and not SETTINGS.parent.exists(), "a purge leaves nothing"


def is_free():
    """Why this machine cannot be used, or nothing."""
    if os.geteuid() != 0:
        return "only root can install packages"
    if not (shutil.which("dpkg-deb") and shutil.which("adduser")):
        return "no dpkg-deb, or no adduser"
    if pathlib.Path("/run/systemd/system").exists():
        return "systemd runs here: this is somebody's machine"
    has_user = any(entry.pw_name == "cohort" for entry in pwd.getpwall())
    there = [path for path in (SETTINGS.parent, DATA, pathlib.Path("/usr/bin/cohort"))
             if path.exists()]
    return f"there is a Cohort already: {there or 'its user'}" if has_user or there else ""


def main():
    reason = is_free()
    if reason:
        print(f"left out: {reason}")
        sys.exit(1 if os.environ.get("CI") else 0)
    with tempfile.TemporaryDirectory(prefix="cohort-package-") as directory:
        room = pathlib.Path(directory)
        # Whatever its name is, packed the fast way.
        package = run(ROOT / "packaging/build-deb", BINARY, room,
                      env=os.environ | {"DEB_COMPRESSION": "1"}).strip()
        try:
            check(package, room)
        finally:
            subprocess.run(["dpkg", "-P", "cohort"], capture_output=True)
            subprocess.run(["deluser", "--quiet", "cohort"], capture_output=True)
    print("built, installed, run, upgraded, removed and purged")


if __name__ == "__main__":
    main()
