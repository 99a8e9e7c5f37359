"""A post office: Dovecot for who reads mail, and a server of SMTP that puts letters into its boxes."""

import contextlib
import pathlib
import shutil
import socket
import socketserver
import subprocess
import tempfile
import threading
import time

import php

CONFIG = """
protocols = imap
listen = 127.0.0.1
base_dir = {room}/run
log_path = {room}/log
ssl = no
disable_plaintext_auth = no
mail_location = maildir:{room}/mail/%n
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
first_valid_uid = 1
mail_uid = {user}
mail_gid = {group}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = {port}
  }}
}}
service anvil {{
  chroot =
}}
service stats {{
  chroot =
}}
passdb {{
  driver = static
  args = password=p-word
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={room}/mail/%n
}}
namespace inbox {{
  inbox = yes
}}
"""


class Letters(socketserver.StreamRequestHandler):
    """One conversation of SMTP."""

    def answer(self, line):
        """Says a line."""
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self):
        """Takes letters until the other side goes."""
        to = []
        self.answer("220 post")
        while line := self.rfile.readline().decode().strip():
            word = line.split()[0].upper()
            if word == "EHLO":
                self.answer("250-post\r\n250 8BITMIME")
            elif word == "RCPT":
                to.append(line.partition("<")[2].partition("@")[0].lower())
                self.answer("250 ok")
            elif word == "DATA":
                self.answer("354 go on")
                text = b""
                while (part := self.rfile.readline()) != b".\r\n":
                    text += part[1:] if part.startswith(b"..") else part
                for name in to:
                    self.server.office.deliver(name, text)
                to = []
                self.answer("250 taken")
            elif word == "QUIT":
                self.answer("221 bye")
                return
            else:
                self.answer("250 ok")


class Office:
    """Where the boxes are, and the ports of both servers."""

    def __init__(self, room):
        self.room, self.imap, self.count = room, php.free_port(), 0
        self.smtp = None

    def deliver(self, name, text):
        """Puts a letter into somebody's box."""
        self.count += 1
        box = self.room / "mail" / name
        if not box.exists():
            for part in ("cur", "new", "tmp"):
                (box / part).mkdir(parents=True)
        letter = box / "new" / f"{1700000000 + self.count}.{self.count}.post"
        letter.write_bytes(text.replace(b"\r\n", b"\n"))
        for path in (box, *box.rglob("*")):
            shutil.chown(path, "nobody", "nogroup")


@contextlib.contextmanager
def opened():
    """An office, as long as the block lasts."""
    room = pathlib.Path(tempfile.mkdtemp(prefix="post-"))
    room.chmod(0o755)
    (room / "mail").mkdir()
    shutil.chown(room / "mail", "nobody", "nogroup")
    office = Office(room)
    (room / "dovecot.conf").write_text(CONFIG.format(room=room, port=office.imap, user="nobody", group="nogroup"))
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Letters)
    server.daemon_threads, server.office = True, office
    office.smtp = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    process = subprocess.Popen(["dovecot", "-F", "-c", room / "dovecot.conf"])
    try:
        until = time.monotonic() + 20
        while time.monotonic() < until and not listens(office.imap):
            time.sleep(0.05)
        yield office
    finally:
        process.terminate()
        process.wait(20)
        server.shutdown()
        shutil.rmtree(room, ignore_errors=True)


def listens(port):
    """Whether somebody answers."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
