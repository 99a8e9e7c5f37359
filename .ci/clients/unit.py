"""Runs the program of a systemd unit without systemd: as its user, in its directories, with its limits,
and, as far as this machine lets it, in its sandbox. What is forbidden kills it, so that nothing goes
unnoticed."""

import ctypes
import ctypes.util
import os
import pathlib
import pwd
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import time

ALLOW, KILL = 0x7fff0000, 0x80000000
EQUAL = 4
PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_SET_MDWE = 38, 24, 65
# What stays below ProtectSystem=strict, PrivateTmp and ProtectHome is done with mounts of our own.
UNSHARE_MOUNTS = 0x00020000


class Comparison(ctypes.Structure):
    """libseccomp's scmp_arg_cmp."""
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int),
                ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


class Unit:
    """The program of a unit, and what it tells its supervisor."""

    def __init__(self, path):
        self.settings = {}
        for line in pathlib.Path(path).read_text().splitlines():
            name, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                self.settings.setdefault(name, []).append(value)
        self.process = None
        self.calls = self._system_calls()
        self.mounts = subprocess.run(["unshare", "--mount", "true"],
                                     capture_output=True).returncode == 0

    def one(self, name):
        return self.settings[name][-1]

    def probe(self, script):
        """What comes of a Python script in the unit's place: its exit code."""
        user = self._prepare()
        return subprocess.run(["/usr/bin/python3", "-c", script], cwd="/", capture_output=True,
                              preexec_fn=lambda: self._enter(user)).returncode

    def start(self, log):
        """Starts the program; returns when it has said that it is ready."""
        user = self._prepare()
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        # Abstract, as in a container: the program has no directory in common with its supervisor.
        self.notices.bind(f"\0cohort-unit-{os.getpid()}")
        with open(log, "a") as output:
            self.process = subprocess.Popen(
                shlex.split(self.one("ExecStart")), stdout=output, stderr=output, cwd="/",
                env={"PATH": "/usr/bin", "NOTIFY_SOCKET": f"@cohort-unit-{os.getpid()}"},
                preexec_fn=lambda: self._enter(user), start_new_session=True)
        assert self.heard(60).startswith("READY=1\n"), "its first word is that it is ready"

    def _prepare(self):
        """Makes the unit's directories; returns its user."""
        user = pwd.getpwnam(self.one("User"))
        for kind, parent in (("State", "/var/lib"), ("Runtime", "/run")):
            directory = pathlib.Path(parent, self.one(f"{kind}Directory"))
            directory.mkdir(exist_ok=True)
            os.chown(directory, user.pw_uid, user.pw_gid)
            directory.chmod(int(self.one(f"{kind}DirectoryMode"), 8))
        return user

    def heard(self, seconds):
        """What the program tells next."""
        until = time.monotonic() + seconds
        self.notices.settimeout(0.1)
        while time.monotonic() < until:
            try:
                return self.notices.recv(4096).decode()
            except TimeoutError:
                code = self.process.poll()
                assert code is None, f"it ended ({code}) and said nothing"
        raise TimeoutError("the program tells nothing")

    def stop(self):
        """Ends the program as systemd does; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        assert self.heard(10).startswith("STOPPING=1\n"), "it says that it stops"
        code = self.process.wait(60)
        self.notices.close()
        self.process = None
        shutil.rmtree(pathlib.Path("/run", self.one("RuntimeDirectory")), ignore_errors=True)
        return code

    def _enter(self, user):
        """What systemd does before the program begins."""
        if self.mounts:
            self._mount()
        files = int(self.one("LimitNOFILE"))
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        files = files if most == resource.RLIM_INFINITY else min(files, most)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
        os.umask(int(self.one("UMask"), 8))
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in range(64):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setgid(user.pw_gid)
        os.setuid(user.pw_uid)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        # Kernels before 6.3 do not know it.
        libc.prctl(PR_SET_MDWE, 1, 0, 0, 0)
        if self.calls:
            self._filter()

    def _mount(self):
        """All is read only but the unit's directories; /tmp is its own, and homes are empty."""
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.unshare(UNSHARE_MOUNTS) == 0

        def mount(*arguments):
            subprocess.run(["mount", *arguments], check=True)
        mount("--make-rprivate", "/")
        kept = [f"/var/lib/{self.one('StateDirectory')}", f"/run/{self.one('RuntimeDirectory')}"]
        for directory in kept:
            mount("--bind", directory, directory)
        for directory in ("/home", "/root", "/tmp"):
            mode = "mode=1777" if directory == "/tmp" else "mode=0"
            mount("-t", "tmpfs", "-o", mode, "tmpfs", directory)
        mount("-o", "remount,bind,ro", "/")

    def _system_calls(self):
        """The calls that the unit allows, if systemd is here to say what its groups are."""
        if not (shutil.which("systemd-analyze") and ctypes.util.find_library("seccomp")):
            return set()
        allowed = set()
        for value in self.settings["SystemCallFilter"]:
            named = group(value.lstrip("~"))
            allowed = allowed - named if value.startswith("~") else allowed | named
        return allowed

    def _filter(self):
        seccomp = ctypes.CDLL(ctypes.util.find_library("seccomp"))
        seccomp.seccomp_init.restype = ctypes.c_void_p
        seccomp.seccomp_init.argtypes = [ctypes.c_uint32]
        rules = ctypes.c_void_p(seccomp.seccomp_init(KILL))

        def allow(name, *comparisons):
            number = seccomp.seccomp_syscall_resolve_name(name.encode())
            array = (Comparison * len(comparisons))(*comparisons)
            if number >= 0:
                seccomp.seccomp_rule_add_array(rules, ctypes.c_uint32(ALLOW), number,
                                               len(comparisons), array)
        for name in self.calls - {"socket"}:
            allow(name)
        for family in self.one("RestrictAddressFamilies").split():
            allow("socket", Comparison(0, EQUAL, getattr(socket, family), 0))
        assert seccomp.seccomp_load(rules) == 0


def group(name):
    """The system calls of one of systemd's groups, and of the groups in it."""
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True,
                            capture_output=True, text=True).stdout.splitlines()
    words = [line.strip() for line in listed[1:] if line.strip()]
    return set().union(*(group(word) for word in words if not word.startswith("#")))
