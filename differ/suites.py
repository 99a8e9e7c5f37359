"""MySQL's and MariaDB's own test suites: their packages, and the servers which they run on."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pymysql

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / ".ci" / "clients"))
from cohort import Cohort  # noqa: E402

SUITES = ("main", "innodb")
# What changes by itself, or says who runs: no reason to start the server anew.
VOLATILE = {"gtid_executed", "gtid_purged", "gtid_binlog_pos", "gtid_binlog_state",
            "gtid_current_pos", "timestamp", "innodb_thread_sleep_delay"}
SYSTEM = {"mysql", "sys", "information_schema", "performance_schema", "cohort", "test"}


class Peer:
    """A kind of server: where its packages' files are, and how one is started."""

    def __init__(self, room, root):
        self.room, self.root = room / self.name, root

    def fetch(self):
        """Unpacks the packages, unless they are there."""
        if (self.room / "done").exists():
            return
        self.room.mkdir(parents=True, exist_ok=True)
        room = tempfile.mkdtemp(prefix="suites-", dir=self.root / "tmp")
        os.chmod(room, 0o777)
        inside = "/" + str(pathlib.Path(room).relative_to(self.root))
        enter = ["chroot", self.root] if self.root != pathlib.Path("/") else []
        download = f"apt-get download -q {' '.join(self.packages)}"
        # The lists of packages may be missing or old.
        command = f"cd {inside} && {{ {download} || {{ apt-get update -q && {download}; }}; }}"
        subprocess.run([*enter, "sh", "-c", command], check=True)
        for package in pathlib.Path(room).glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, self.room], check=True)
        shutil.rmtree(room)
        (self.room / "done").touch()

    def is_known(self):
        """Whether the lists of what passes are of this series of the peer."""
        said = subprocess.run(self.server + ["--version"], check=True, capture_output=True, text=True)
        return f"Ver {self.series}." in said.stdout

    def program(self, path):
        """The command for a program of the peer. That of another Debian than this one's runs with
        its own loader and libraries."""
        if self.root == pathlib.Path("/"):
            return [str(path)]
        libraries = ":".join(f"{self.root}/{one}" for one in (
            "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu", "usr/lib/mysql/private"))
        return [f"{self.root}/lib64/ld-linux-x86-64.so.2", "--library-path", libraries, str(path)]

    def template(self):
        """A data directory as it is after the first start."""
        template = self.room / "template"
        if not template.exists():
            making = self.room / "making"
            shutil.rmtree(making, ignore_errors=True)
            self.make(making)
            making.rename(template)
        return template

    def files(self, suite):
        """The names of the suite's files that have a result to compare with."""
        tests, results = self.places(suite)
        return sorted(path.stem for path in tests.glob("*.test")
                      if (results / f"{path.stem}.result").exists())


class MySQL(Peer):
    """MySQL 9.7 of a Debian unstable that stands in a directory of its own."""

    name, series, packages = "mysql", "9.7", ("mysql-testsuite",)
    tools = {"MYSQL": "mysql", "MYSQLADMIN": "mysqladmin", "MYSQL_DUMP": "mysqldump",
             "MYSQL_IMPORT": "mysqlimport", "MYSQL_SHOW": "mysqlshow", "MYSQL_CHECK": "mysqlcheck",
             "MYSQL_BINLOG": "mysqlbinlog", "MYSQL_SLAP": "mysqlslap", "MY_PERROR": "perror"}

    @property
    def server(self):
        """The server's program."""
        return self.program(self.root / "usr/sbin/mysqld")

    @property
    def tests(self):
        """The directory that mysqltest runs in."""
        return self.room / "usr" / "lib" / "mysql-test"

    @property
    def mysqltest(self):
        """The program."""
        return self.tests / "bin" / "mysqltest"

    def places(self, suite):
        """Where the suite's files are, and their results."""
        base = self.tests if suite == "main" else self.tests / "suite" / suite
        return base / "t", base / "r"

    def make(self, directory):
        """Makes a data directory."""
        subprocess.run(self.server + [
            "--no-defaults", f"--basedir={self.root}/usr", "--user=root",
            "--initialize-insecure", f"--datadir={directory}"], check=True, capture_output=True)

    def command(self, data, socket):
        """The command that starts a server."""
        return self.server + [
            "--no-defaults", f"--basedir={self.root}/usr", "--user=root", f"--datadir={data}",
            f"--socket={socket}", "--skip-networking", "--mysqlx=OFF", "--secure-file-priv="]


class MariaDB(Peer):
    """MariaDB 10.11 of this Debian."""

    name, series, packages = "mariadb", "10.11", ("mariadb-test", "mariadb-test-data", "libpcre2-posix3")
    tools = {"MYSQL": "mariadb", "MYSQLADMIN": "mariadb-admin", "MYSQL_DUMP": "mariadb-dump",
             "MYSQL_IMPORT": "mariadb-import", "MYSQL_SHOW": "mariadb-show",
             "MYSQL_CHECK": "mariadb-check", "MYSQL_BINLOG": "mariadb-binlog",
             "MYSQL_SLAP": "mariadb-slap", "MY_PERROR": "perror"}

    @property
    def server(self):
        """The server's program."""
        return ["mariadbd"]

    @property
    def tests(self):
        """The directory that mysqltest runs in."""
        return self.room / "usr" / "share" / "mysql" / "mysql-test"

    @property
    def mysqltest(self):
        """The program."""
        return self.room / "usr" / "bin" / "mariadb-test"

    def places(self, suite):
        """Where the suite's files are, and their results."""
        if suite == "main":
            return self.tests / "main", self.tests / "main"
        return self.tests / "suite" / suite / "t", self.tests / "suite" / suite / "r"

    def make(self, directory):
        """Makes a data directory."""
        subprocess.run(["mariadb-install-db", "--no-defaults", "--user=root",
                        f"--datadir={directory}", "--auth-root-authentication-method=normal",
                        "--skip-test-db"], check=True, capture_output=True)

    def command(self, data, socket):
        """The command that starts a server."""
        return self.server + ["--no-defaults", "--user=root", f"--datadir={data}",
                f"--socket={socket}", "--skip-networking", "--log-bin", "--server-id=1"]


class PeerServer:
    """A throw-away server of the peer."""

    def __init__(self, peer, room):
        self.peer, self.data = peer, room / "data"
        self.socket, self.process = room / "s", None

    def start(self):
        """Starts it with a fresh data directory."""
        shutil.rmtree(self.data, ignore_errors=True)
        subprocess.run(["cp", "-r", self.peer.template(), self.data], check=True)
        self.socket.unlink(missing_ok=True)
        with open(self.data.with_name("log"), "wb") as log:
            self.process = subprocess.Popen(
                self.peer.command(self.data, self.socket), stdout=log, stderr=log,
                start_new_session=True, env={**os.environ, "TZ": "GMT-3"})

    def stop(self):
        """Ends it."""
        if self.process:
            self.process.kill()
            self.process.wait()


class CohortServer:
    """A throw-away Cohort."""

    def __init__(self, room):
        self.room, self.socket, self.cohort = room, room / "s", None

    def start(self):
        """Starts it with a fresh data directory."""
        os.environ["TZ"] = "GMT-3"
        self.cohort = Cohort("--socket", str(self.socket), "--secure-file-priv", "")
        self.cohort.start()

    def stop(self):
        """Ends it."""
        if self.cohort:
            self.cohort.stop(signal.SIGKILL)
            shutil.rmtree(self.cohort.directory, ignore_errors=True)


class Lane:
    """A server, and what is needed to use it for one file after the other."""

    def __init__(self, server):
        self.server, self.before = server, None

    def connect(self):
        """A connection of root."""
        return pymysql.connect(unix_socket=str(self.server.socket), user="root", autocommit=True,
                               read_timeout=20, write_timeout=20)

    def restart(self):
        """A fresh server; it has answered."""
        self.server.stop()
        self.server.start()
        until = time.monotonic() + 120
        while True:
            try:
                self.before = self.state()
                return
            except (pymysql.Error, OSError):
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def state(self):
        """What a file may change: databases, accounts, variables."""
        with self.connect() as connection, connection.cursor() as cursor:
            def ask(statement):
                cursor.execute(statement)
                return cursor.fetchall()
            names = {name for name, in ask("SHOW DATABASES")}
            users = set(ask("SELECT user, host FROM mysql.user"))
            variables = {name: value for name, value in ask("SHOW GLOBAL VARIABLES")
                         if name not in VOLATILE}
            return names - SYSTEM, users, variables

    def clean(self):
        """Makes a new database `test`, and undoes what the file before did; by a fresh server if
        it must."""
        try:
            if not self.undo():
                self.restart()
                self.undo()
        except (pymysql.Error, OSError):
            self.restart()
            self.undo()

    def undo(self):
        """Whether the server is as it was."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute("SHOW PROCESSLIST")
            for row in cursor.fetchall():
                if row[0] != connection.thread_id() and row[1] == "root":
                    cursor.execute(f"KILL {row[0]}")
            cursor.execute("XA RECOVER")
            if cursor.fetchall():
                return False
            databases, users, variables = self.state()
            for name in [*databases, "test"]:
                cursor.execute(f"DROP DATABASE IF EXISTS `{name}`")
            for user, host in users - self.before[1]:
                cursor.execute(f"DROP USER IF EXISTS `{user}`@`{host}`")
            for name, value in self.before[2].items():
                if variables.get(name) != value:
                    number = value.lstrip("-").replace(".", "", 1).isdigit()
                    cursor.execute(f"SET GLOBAL {name} = {value if number else repr(value)}")
            cursor.execute("CREATE DATABASE test")
        return self.state() == self.before
