"""An application of PHP: its programs on the command line, and its web server."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import time


def run(*arguments, room=None, fails=False, settings=(), **environment):
    """Runs a program of PHP; what it prints."""
    command = ["php", *(part for setting in settings for part in ("-d", setting)), *arguments]
    done = subprocess.run(command, cwd=room, capture_output=True, text=True, errors="replace",
                          env={**os.environ, **environment}, check=False)
    if bool(done.returncode) != fails:
        raise AssertionError(f"{' '.join(map(str, arguments))}: exit code {done.returncode}: "
                             f"{reason(done.stdout + done.stderr)}")
    return done.stdout + done.stderr


def free_port():
    """A port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def served(root, port=None, router=None, workers=4, settings=(), **environment):
    """PHP's web server for a directory: its address, as long as the block lasts."""
    port = port or free_port()
    command = ["php", *(part for setting in settings for part in ("-d", setting)),
               "-S", f"127.0.0.1:{port}", "-t", str(root), *([str(router)] if router else [])]
    # With several workers, a page may ask for another one.
    mine = {**os.environ, "PHP_CLI_SERVER_WORKERS": str(workers), **environment}
    with open(pathlib.Path(root).parent / "server.log", "ab") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=mine)
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(30)


def reason(printed):
    """The part of an output that says what is wrong: the database's error, or the end."""
    found = re.search(r"(?:Error \d+: |SQLSTATE)[^\n]*(?:\n[^\n]+){0,4}", printed)
    return found.group(0) if found else printed[-400:]
