#!/usr/bin/env python3
"""The console, in a browser and without one: who gets in, what an account sees, and that a blocker can be ended
and a stuck saga be resolved on one screen. And `cohort top`.

  .ci/clients/console.py [DIRECTORY]

With a directory the pictures of docs/console.md are made anew there.
"""

import fcntl
import http.client
import http.server
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.parse

import pymysql
import requests

from cohort import BINARY, Cohort, free_port
from console_browser import Browser

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
          "form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
PAGES = {"/now": "Commits in a group", "/times": "Where it went", "/sessions": "Open transactions",
         "/statements": "Kinds of statements", "/advice": "round trips", "/log": "binlog.000001",
         "/transactions": "What unfinished transactions wait for"}
# Every text on the page whose contrast with what is behind it is too low (WCAG 2.2, AA).
CONTRAST = """
const parse = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length > 3 ? n : [...n, 1]; };
const light = ([r, g, b]) => { const f = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
const behind = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; }
  return [255, 255, 255, 1]; };
const wrong = [];
for (const e of document.querySelectorAll("body *")) {
  const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (!own || !e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const color = parse(e instanceof SVGElement ? style.fill : style.color);
  const [a, b] = [light(color), light(behind(e))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const large = parseFloat(style.fontSize) >= 24;
  if (ratio < (large ? 3 : 4.5)) wrong.push(`${e.tagName} ${e.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
}
return wrong;
"""


class Visitor:
    """Somebody without a browser."""

    def __init__(self, port):
        self.port, self.cookie = port, None

    def ask(self, path, form=None, method=None, **headers):
        """The status, the headers and the text of an answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            headers.setdefault("cookie", self.cookie)
        body = None
        if form is not None:
            body = urllib.parse.urlencode(form)
            headers.setdefault("content-type", "application/x-www-form-urlencoded")
        try:
            connection.request(method or ("GET" if form is None else "POST"), path, body, headers)
            reply = connection.getresponse()
            text = reply.read().decode()
        finally:
            connection.close()
        assert reply.headers["content-security-policy"] == POLICY, (path, reply.headers)
        assert reply.headers["x-content-type-options"] == "nosniff", path
        assert "style=" not in text and "<script>" not in text and "onclick" not in text, path
        return reply.status, reply.headers, text

    def log_in(self, user, password):
        status, headers, text = self.ask("/login", {"user": user, "password": password})
        if status == 303:
            set_cookie = headers["set-cookie"]
            assert "HttpOnly" in set_cookie and "SameSite=Strict" in set_cookie and "Path=/" in set_cookie, set_cookie
            self.cookie = set_cookie.split(";")[0]
        return status, text

    def csrf(self):
        text = self.ask("/now")[2]
        return text.split('name="csrf" value="')[1].split('"')[0]


class Service(http.server.ThreadingHTTPServer):
    """Answers with `status` whatever it is asked."""

    daemon_threads = True

    def __init__(self, status):
        self.status = status
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(self.server.status)
        self.send_header("content-length", "4")
        self.end_headers()
        self.wfile.write(b"done" if self.server.status == 200 else b"gone")

    do_GET = do_POST


class Load:
    """What clients of a shop do, until it is ended."""

    def __init__(self, server):
        self.server, self.is_over = server, threading.Event()
        with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE shop")
            cursor.execute("CREATE TABLE shop.stock (id INT PRIMARY KEY, left_over INT, note VARCHAR(40))")
            cursor.execute("INSERT INTO shop.stock VALUES " + ",".join(f"({n}, 1000, '')" for n in range(200)))
        self.threads = [threading.Thread(target=self._work, args=(n,)) for n in range(4)]
        for thread in self.threads:
            thread.start()

    def _work(self, number):
        with self.server.connect(autocommit=True, database="shop", user="shop", password="s") as connection:
            cursor, n = connection.cursor(), number
            while not self.is_over.is_set():
                n = (n * 31 + 7) % 190 + 10
                try:
                    self._step(cursor, number, n)
                except pymysql.err.OperationalError as error:
                    assert error.args[0] == 1290, "read-only for a moment"
                    cursor.execute("ROLLBACK")
                time.sleep(0.002)

    def _step(self, cursor, number, n):
        cursor.execute("UPDATE stock SET left_over = left_over - 1 WHERE id = %s", n)
        cursor.execute("BEGIN")
        cursor.execute("SELECT left_over FROM stock WHERE id = %s", n)
        cursor.execute("COMMIT")
        if number == 0:
            cursor.execute("BEGIN")
            cursor.execute("UPDATE stock SET note = 'ordered' WHERE id = 5")
            cursor.execute("UPDATE stock SET left_over = left_over - 1 WHERE id = 6")
            cursor.execute("COMMIT")

    def end(self):
        self.is_over.set()
        for thread in self.threads:
            thread.join(20)


def submit(port, gid, *services):
    """A saga with a step at each of these."""
    steps = [{"action": f"{s.url}/pay", "compensate": f"{s.url}/pay-back"} for s in services]
    body = {"gid": gid, "trans_type": "saga", "retry_interval": 600, "steps": steps,
            "payloads": ['{"amount": 30}'] * len(steps)}
    answer = requests.post(f"http://127.0.0.1:{port}/api/dtmsvr/submit", json=body, timeout=30)
    assert answer.status_code == 200, answer.text


def make_accounts(server):
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        for user in ("ann IDENTIFIED BY 'right'", "plain IDENTIFIED BY 'plain'", "shop IDENTIFIED BY 's'",
                     "locked ACCOUNT LOCK", "tls REQUIRE SSL", "cert REQUIRE X509"):
            cursor.execute(f"CREATE USER {user}")
        cursor.execute("GRANT ALL ON *.* TO ann WITH GRANT OPTION")
        cursor.execute("GRANT ALL ON shop.* TO shop")
        cursor.execute("CREATE USER old IDENTIFIED WITH mysql_native_password BY 'native'")


def check_door(server, port):
    """Who gets in, and who does not."""
    visitor = Visitor(port)
    for path in ("/", "/now", "/sessions", "/kill?id=1", "/transaction?gid=x"):
        status, headers, _ = visitor.ask(path)
        assert (status, headers["location"]) == (303, "/login"), path
    assert visitor.ask("/live/now")[0] == 401
    assert visitor.ask("/kill", {"id": "1", "what": "QUERY"})[0] == 303
    assert visitor.ask("/now", cookie=f"cohort_console_{port}=" + "0" * 64)[0] == 303
    assert visitor.ask("/login", method="DELETE")[0] == 405
    assert visitor.ask("/login", {"user": "ann"}, content_type="text/plain")[0] == 415
    assert visitor.ask("/login", {"user": "a" * 70_000, "password": ""})[0] == 413
    for user, password, why in (("ann", "wrong", "Access denied"), ("nobody", "right", "Access denied"),
                                ("ann", "", "Access denied"), ("locked", "", "locked"), ("tls", "", "REQUIRE SSL"),
                                ("tls", "wrong", "Access denied"), ("cert", "", "REQUIRE X509"),
                                ("cert", "wrong", "Access denied"),
                                ("ann' OR '1'='1", "right", "Access denied")):
        status, text = visitor.log_in(user, password)
        assert status == 403 and why in text, (user, text)
    assert visitor.cookie is None
    assert Visitor(port).log_in("old", "native")[0] == 303
    assert visitor.log_in("ann", "right")[0] == 303 and visitor.ask("/now")[0] == 200
    # What others send, from another page or by another name, even with the cookie.
    own = f"127.0.0.1:{port}"
    for headers in ({"host": "evil.example"}, {"host": f"evil.example:{port}"}, {"host": "10.0.0.1"},
                    {"host": "[::1]evil"}, {"host": f"[::1]:{port}.evil.example"}, {"host": "localhost:evil"},
                    {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": f"http://localhost:{port}"},
                    {"sec_fetch_site": "cross-site"}, {"sec_fetch_site": "same-site"}):
        for path in ("/now", "/live/now", "/console.js", "/login"):
            status, _, text = visitor.ask(path, **headers)
            assert status == 403 and "csrf" not in text, (path, headers, status)
    assert visitor.ask("/now", host=f"localhost:{port}")[0] == 200
    assert visitor.ask("/now", origin=f"http://{own}", sec_fetch_site="same-origin")[0] == 200
    check_forms(server, visitor)
    assert visitor.ask("/logout", {"csrf": visitor.csrf()})[0] == 303
    assert visitor.ask("/now")[0] == 303


def check_forms(server, visitor):
    """A change needs the word that only our pages have, and is no GET."""
    with server.connect() as victim, victim.cursor() as cursor:
        number = victim.thread_id()
        form = {"id": str(number), "what": "CONNECTION"}
        for csrf in (None, "", "0" * 64, visitor.csrf()[:-1]):
            given = form if csrf is None else {**form, "csrf": csrf}
            status, _, text = visitor.ask("/kill", given)
            assert status == 403 and "not of a page of yours" in text, (csrf, status)
            assert visitor.ask("/logout", {} if csrf is None else {"csrf": csrf})[0] == 403
            assert visitor.ask("/change", {"gid": "x"} if csrf is None else {"gid": "x", "csrf": csrf})[0] == 403
        right = {**form, "csrf": visitor.csrf()}
        assert visitor.ask("/kill", right, origin="http://evil.example")[0] == 403
        status, _, text = visitor.ask(f"/kill?id={number}")
        assert status == 200 and f"End connection {number}?" in text
        assert visitor.ask(f"/kill?id={number}&what=CONNECTION&csrf={visitor.csrf()}")[0] == 200
        cursor.execute("SELECT 1")
        assert visitor.ask("/kill", {**right, "id": f"{number}; DROP DATABASE shop"})[0] == 400
        assert visitor.ask("/kill", {**right, "what": "CONNECTION 1; KILL"})[0] == 400
        assert visitor.ask("/nowhere", right)[0] == 404 and visitor.ask("/nowhere")[0] == 404


def check_waits(server, port):
    """Wrong passwords wait as at the other port, and each port's count for both."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE USER slow IDENTIFIED BY 'right'")
        cursor.execute("SET GLOBAL connection_control_failed_connections_threshold = 2, "
                       "GLOBAL connection_control_min_connection_delay = 1000")
        for _ in range(2):
            try:
                server.connect(user="slow", password="wrong")
                raise AssertionError("a wrong password is right")
            except pymysql.err.OperationalError as error:
                assert error.args[0] == 1045, error
        begun = time.monotonic()
        assert Visitor(port).log_in("slow", "wrong")[0] == 403
        assert time.monotonic() - begun > 0.9, "the console does not wait"
        cursor.execute("SHOW GLOBAL STATUS LIKE 'Connection_control_delay_generated'")
        assert int(cursor.fetchone()[1]) >= 1
        cursor.execute("SET GLOBAL connection_control_failed_connections_threshold = DEFAULT, "
                       "GLOBAL connection_control_min_connection_delay = DEFAULT")


def check_privileges(server, port):
    """An account sees here what it sees in SQL, and changes what it may there."""
    visitor = Visitor(port)
    assert visitor.log_in("plain", "plain")[0] == 303
    for path in PAGES:
        status, _, text = visitor.ask(path)
        assert status == 200 and "ann@" not in text and "shop@" not in text and "root@" not in text, path
        assert "left_over" not in text, path
    now = visitor.ask("/now")[2]
    for chart in ("Slots and their queue", "Memory of the process", "Syncs of the log by how long"):
        assert chart not in now and chart in visitor_of_all(port).ask("/now")[2], chart
    with server.connect(user="plain", password="plain") as connection, connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM information_schema.COHORT_LOG_FSYNC_HISTOGRAM")
        assert cursor.fetchone() == (0,), "it needs PROCESS"
    assert "(error 1227)" in visitor.ask("/sessions")[2]
    assert "(error 1227)" in visitor.ask("/log")[2]
    assert "Not shown" in visitor.ask("/log?file=binlog.000001")[2]
    assert "you need SELECT on" in visitor.ask("/transactions")[2]
    assert "saga-1" not in visitor.ask("/transaction?gid=saga-1")[2].split("<main")[1]
    with server.connect() as victim, victim.cursor() as cursor:
        form = {"id": str(victim.thread_id()), "what": "CONNECTION", "csrf": visitor.csrf()}
        status, _, text = visitor.ask("/kill", form)
        assert status == 200 and "(error 1095)" in text, text
        cursor.execute("SELECT 1")
    form = {"gid": "saga-1", "operation": "force", "to": "succeed", "reason": "mine", "csrf": visitor.csrf()}
    assert "you need SELECT on" in visitor.ask("/change", form)[2]
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        # Rights on some columns or some tables are none on what the page shows.
        cursor.execute("GRANT SELECT, UPDATE (gid) ON cohort.global_transactions TO plain")
        assert "you need SELECT on" in visitor.ask("/transaction?gid=saga-1")[2]
        assert "you need SELECT on" in visitor.ask("/change", form)[2]
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("GRANT SELECT ON cohort.* TO plain")
        text = visitor.ask("/transaction?gid=saga-1")[2]
        assert "Waits for" in text and "you need UPDATE on" in text and "do-retry" not in text, text
        status, _, text = visitor.ask("/change", form)
        assert status == 403 and "UPDATE on cohort" in text
        cursor.execute("SELECT status FROM cohort.global_transactions WHERE gid = 'saga-1'")
        assert cursor.fetchone() == ("submitted",)
        # KILL of the console's own session ends the login, and the session, whether its browser comes back or not.
        mine = "SELECT ID FROM performance_schema.processlist WHERE USER = 'plain'"
        cursor.execute(mine)
        cursor.execute(f"KILL {cursor.fetchone()[0]}")
        until = time.monotonic() + 5
        while cursor.execute(mine):
            assert time.monotonic() < until, "a killed session goes by itself"
            time.sleep(0.1)
    assert visitor.ask("/now")[0] == 303


def visitor_of_all(port):
    """Somebody who may see everything."""
    visitor = Visitor(port)
    assert visitor.log_in("ann", "right")[0] == 303
    return visitor


def check_places(port):
    """Who only asks for the login page keeps nobody out, however often and however long; who is logged in stays."""
    known = visitor_of_all(port)
    own = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    own.request("GET", "/now", headers={"cookie": known.cookie})
    assert own.getresponse().read()
    strangers = []
    for _ in range(300):
        stranger = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        strangers.append(stranger)
        stranger.request("GET", "/login")
        reply = stranger.getresponse()
        assert reply.status == 200 and reply.read()
    begun = time.monotonic()
    assert visitor_of_all(port).ask("/now")[0] == 200
    own.request("GET", "/now", headers={"cookie": known.cookie})
    assert own.getresponse().status == 200, "who is logged in keeps the connection"
    took = time.monotonic() - begun
    assert took < 5, f"those who are not logged in keep others out: {took:.1f} s"
    for connection in (own, *strangers):
        connection.close()


def check_read_only(server, port, coordinator):
    """The coordinator's tables are its own: read_only is about what clients say."""
    # A transaction that takes no lock has a beginning all the same.
    with server.connect() as implicit, server.connect(autocommit=True) as root:
        with implicit.cursor() as reader, root.cursor() as cursor:
            reader.execute("SELECT COUNT(*) FROM shop.stock")
            cursor.execute("SELECT TIMESTAMPDIFF(SECOND, trx_started, NOW()) FROM information_schema.INNODB_TRX "
                           f"WHERE trx_mysql_thread_id = {implicit.thread_id()}")
            [(age,)] = cursor.fetchall()
            assert 0 <= age < 60, age
    visitor = visitor_of_all(port)
    with server.connect(autocommit=True) as root, root.cursor() as cursor:
        cursor.execute("SET GLOBAL super_read_only = ON")
        try:
            submit(coordinator, "saga-read-only", Service(500))
            form = {"gid": "saga-read-only", "operation": "pause", "reason": "the server is read-only",
                    "csrf": visitor.csrf()}
            status, _, text = visitor.ask("/change", form)
            assert status == 303, (status, text)
        finally:
            cursor.execute("SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF")
        cursor.execute("SELECT pause_time IS NOT NULL FROM cohort.global_transactions WHERE gid = 'saga-read-only'")
        assert cursor.fetchone()[0], "it is paused"


def check_top(server):
    """`cohort top` in a terminal and without one."""
    command = [BINARY, "top", "--port", str(server.port), "--user", "ann", "--interval", "0.2"]
    environment = {**os.environ, "MYSQL_PWD": "right", "TERM": "xterm-256color"}
    printed = subprocess.run([*command, "--once"], env=environment, capture_output=True, text=True, timeout=30)
    assert printed.returncode == 0, printed.stderr
    for part in ("commits in a group", "Where the last minute's commits spent their time", "UPDATE `stock`",
                 "Open transactions", "Kinds of statements"):
        assert part in printed.stdout, (part, printed.stdout)
    assert "not shown" not in printed.stdout, printed.stdout
    own, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 140, 0, 0))
    process = subprocess.Popen(command, env=environment, stdin=its, stdout=its, stderr=its, start_new_session=True)
    os.close(its)
    seen = b""

    def until(part):
        nonlocal seen
        end = time.monotonic() + 20
        while part not in seen:
            assert time.monotonic() < end, (part, seen[-2000:])
            if select.select([own], [], [], 0.2)[0]:
                seen += os.read(own, 65536)

    try:
        until(b"commits/s")
        for key, part in ((b"2", b"encode"), (b"3", b"Open transactions"), (b"\t", b"Kinds of statements"), (b"p", b"paused")):
            os.write(own, key)
            until(part)
        os.write(own, b"q")
        assert process.wait(20) == 0
    finally:
        process.kill()
        os.close(own)


class Pictures:
    """Screenshots, if they are wanted."""

    def __init__(self, directory):
        self.directory = directory and pathlib.Path(directory)

    def take(self, browser, name):
        if self.directory:
            self.directory.mkdir(parents=True, exist_ok=True)
            path = self.directory / f"{name}.png"
            browser.screenshot(path)
            assert path.stat().st_size < 150_000, (name, path.stat().st_size)


def log_in(browser, base):
    """With the keyboard alone."""
    browser.go(base)
    browser.until("the login", lambda: browser.url.endswith("/login"))
    browser.press("ann\ue004right\ue007")
    browser.until("the first page", lambda: browser.url.endswith("/now"))


def check_pages(browser, base, pictures):
    """Every page under load: it has what it is for, in both lights, and nothing that the policy forbids."""
    for path, part in PAGES.items():
        browser.go(base + path)
        browser.until_text(part)
        for scheme in ("light", "dark"):
            browser.paint(scheme)
            assert browser.run(CONTRAST) == [], (path, scheme, browser.run(CONTRAST))
        browser.paint("light")
        assert browser.run("return document.querySelectorAll('h1').length") == 1, path
        name = path.strip("/")
        if name in ("times", "statements", "advice", "log"):
            pictures.take(browser, name)
    browser.go(base + "/statements")
    browser.until_text("UPDATE `stock`")
    browser.click("#plan0")
    browser.until_text("Its plan")
    browser.go(base + "/log?file=binlog.000001")
    browser.until_text("The largest transactions of binlog.000001")
    check_live(browser, base)


def check_live(browser, base):
    """Numbers change by themselves, until one says pause; the focus stays where it is."""
    browser.go(base + "/statements")
    browser.until_text("UPDATE `stock`")
    first = browser.run("return document.getElementById('live').innerText")
    browser.until("newer numbers", lambda: browser.run("return document.getElementById('live').innerText") != first)
    browser.run("document.getElementById('plan0').focus()")
    time.sleep(1.5)
    assert browser.run("return document.activeElement.id") == "plan0"
    browser.click("#pause")
    browser.until_text("Paused.")
    first = browser.run("return document.getElementById('live').innerText")
    time.sleep(1.5)
    assert browser.run("return document.getElementById('live').innerText") == first
    # From the top of a page the first key leads past the menu.
    browser.go(base + "/now")
    browser.press("\ue004\ue007")
    assert browser.run("return document.activeElement.id") == "main"


def check_blocker(browser, base, server, pictures):
    """Who makes others wait is seen, and ended; a deadlock is told."""
    root, middle, last = (server.connect(database="shop") for _ in range(3))
    failures = []

    def run(connection, sql):
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql)
            connection.commit()
        except pymysql.Error as error:
            failures.append(error.args[0])

    with root.cursor() as cursor:
        cursor.execute("UPDATE stock SET note = 'held' WHERE id = 1")
    with middle.cursor() as cursor:
        cursor.execute("UPDATE stock SET note = 'held' WHERE id = 2")
    waiting = [threading.Thread(target=run, args=(middle, "UPDATE stock SET note = 'm' WHERE id = 1")),
               threading.Thread(target=run, args=(last, "UPDATE stock SET note = 'l' WHERE id = 2"))]
    for thread in waiting:
        thread.start()
    number = root.thread_id()
    browser.go(base + "/now")
    browser.until_text("wait for row locks")
    pictures.take(browser, "now")
    browser.go(base + "/sessions")
    browser.until_text(f"Connection {number} waits for nobody, and 2 wait for it")
    said = browser.run("return document.querySelector('svg.graph').getAttribute('aria-label')")
    assert f"{middle.thread_id()} waits for {number}" in said, said
    assert f"{last.thread_id()} waits for {middle.thread_id()}" in said, said
    pictures.take(browser, "sessions")
    browser.click(f"#root-{number}")
    browser.until_text(f"End connection {number}?")
    browser.click("#kill-connection")
    browser.until_text(f"Connection {number} was told to end.")
    for thread in waiting:
        thread.join(20)
        assert not thread.is_alive(), "they wait still"
    assert failures == [], failures
    browser.until_text("Nobody waits for anybody")
    try:
        root.ping(reconnect=False)
        raise AssertionError("the connection lives")
    except pymysql.Error:
        pass
    with middle.cursor() as cursor:
        cursor.execute("UPDATE stock SET note = 'a' WHERE id = 3")
    with last.cursor() as cursor:
        cursor.execute("UPDATE stock SET note = 'b' WHERE id = 4")
    crossing = threading.Thread(target=run, args=(middle, "UPDATE stock SET note = 'a' WHERE id = 4"))
    crossing.start()
    time.sleep(0.3)
    run(last, "UPDATE stock SET note = 'b' WHERE id = 3")
    crossing.join(20)
    assert failures == [1213], failures
    browser.go(base + "/sessions")
    browser.until_text("rolled back")
    assert "UPDATE stock SET note = 'a' WHERE id = 4" in browser.text
    assert "UPDATE stock SET note = 'b' WHERE id = 3" in browser.text


def check_saga(browser, base, server, bank, pictures):
    """Why it hangs, and what to do: on one screen."""
    browser.go(base + "/transactions")
    browser.until_text("status 500")
    assert "saga-1" in browser.text
    pictures.take(browser, "transactions")
    browser.click("#g-saga-1")
    browser.until_text("Waits for action of branch 02")
    assert "Retry does it at once" in browser.text and "gone" in browser.text
    assert browser.run("return document.querySelectorAll('svg.gantt rect.b5').length") >= 1
    pictures.take(browser, "transaction")
    browser.click("#payloads")
    browser.until_text('"amount"')
    # A change without a reason is not sent.
    browser.go(base + "/transaction?gid=saga-1")
    browser.click("#do-retry")
    time.sleep(0.2)
    bank.status = 200
    browser.type("#why-retry", "the bank is back")
    browser.click("#do-retry")
    browser.accept()
    browser.until_text("It has ended.")
    browser.until_text("by ann")
    assert "the bank is back" in browser.text
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT status FROM cohort.global_transactions WHERE gid = 'saga-1'")
        assert cursor.fetchone() == ("succeed",)
        cursor.execute("SELECT operation, operator, reason FROM cohort.operations WHERE gid = 'saga-1'")
        assert cursor.fetchall() == (("retry", "ann", "the bank is back"),)


def check_times(server):
    """The parts of each commit are not negative, and make up the whole."""
    with server.connect(autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM performance_schema.cohort_commits_by_digest")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor.fetchall()]
        parts = [name for name in names if name.startswith("SUM_") and name != "SUM_TIMER_WAIT"]
        assert len(parts) == 9, parts
        for row in rows:
            assert sum(row[name] for name in parts) == row["SUM_TIMER_WAIT"], row
            assert 0 < row["MAX_TIMER_WAIT"] <= row["SUM_TIMER_WAIT"], row
        update = next(row for row in rows if "`left_over` - ? WHERE" in (row["DIGEST_TEXT"] or ""))
        assert update["COUNT_STAR"] > 50 and update["SUM_FSYNC"] > 0 and update["SUM_ENCODING"] > 0, update
        cursor.execute("SELECT TIMER_WAIT, STATEMENTS, CLIENT FROM performance_schema.cohort_commits_slowest")
        slowest = cursor.fetchall()
        assert slowest and list(slowest) == sorted(slowest, key=lambda row: -row[0]), slowest
        cursor.execute("SELECT COUNT(*) FROM sys.cohort_commit_times")
        assert cursor.fetchone()[0] >= 1


def check_ports(server, port):
    """A port that is taken keeps only a server from starting that was told to use it."""
    try:
        with Cohort("--console-port", str(port)):
            raise AssertionError("two consoles at one port")
    except RuntimeError as error:
        assert f"port {port} on 127.0.0.1 is in use" in str(error), error
    try:
        with Cohort("--console-port", str(free_port()), "--console-address", "0.0.0.0"):
            raise AssertionError("passwords in the clear")
    except RuntimeError as error:
        assert "without TLS" in str(error), error
    assert f"console: http://127.0.0.1:{port}/" in server.log.read_text()


def main():
    pictures = Pictures(sys.argv[1] if len(sys.argv) > 1 else None)
    port, coordinator = free_port(), free_port()
    flags = "--console-port", str(port), "--coordinator", "on", "--coordinator-port", str(coordinator)
    with Cohort(*flags) as server:
        make_accounts(server)
        load = Load(server)
        try:
            bank = Service(500)
            submit(coordinator, "saga-1", Service(200), bank)
            submit(coordinator, "saga-2", bank)
            check_ports(server, port)
            check_door(server, port)
            check_waits(server, port)
            check_privileges(server, port)
            check_places(port)
            check_read_only(server, port, coordinator)
            check_top(server)
            base = f"http://127.0.0.1:{port}"
            with Browser() as browser:
                log_in(browser, base)
                check_times(server)
                check_pages(browser, base, pictures)
                check_blocker(browser, base, server, pictures)
                check_saga(browser, base, server, bank, pictures)
                browser.click("header button")
                browser.until("the login", lambda: browser.url.endswith("/login"))
                assert browser.complaints() == []
        finally:
            load.end()
        assert server.stop() == 0, "the server ends in good order"
        assert "COHORT_TASK_FAILED" not in server.log.read_text()
    print("console: who gets in, what they see, and what they can do about it")


if __name__ == "__main__":
    main()
