"""A browser without a window, driven through chromedriver with nothing but the standard library."""

import base64
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# What chromedriver calls an element in what it sends.
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    """What chromedriver says that went wrong."""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """Chromium, of so many pixels; it goes when the `with` block ends."""

    def __init__(self, width=1280, height=780):
        self.directory = tempfile.mkdtemp(prefix="cohort-browser-")
        self.port = free_port()
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--log-level=SEVERE"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{self.port}"
        until = time.monotonic() + 20
        while True:
            try:
                if self._send("GET", "/status")["ready"]:
                    break
            except OSError:
                assert time.monotonic() < until, "chromedriver does not answer"
                time.sleep(0.05)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--force-color-profile=srgb", f"--window-size={width},{height}",
                     f"--user-data-dir={self.directory}", "--no-first-run", "--disable-extensions",
                     "--disable-background-networking", "--disable-component-update", "--lang=en"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"args": arguments, "binary": shutil.which("chromium")},
                  "goog:loggingPrefs": {"browser": "ALL"}, "unhandledPromptBehavior": "ignore"}
        answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{answer['sessionId']}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self._send("DELETE", "")
        except (OSError, BrowserError):
            pass
        self.driver.terminate()
        self.driver.wait(20)
        shutil.rmtree(self.directory, ignore_errors=True)

    def _send(self, method, path, body=None):
        data = None if method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            said = json.load(error)["value"]
            raise BrowserError(f"{path}: {said['error']}: {said['message']}") from None

    def go(self, url):
        self._send("POST", "/url", {"url": url})

    @property
    def url(self):
        return self._send("GET", "/url")

    def run(self, script, *arguments):
        """What a script returns."""
        return self._send("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    @property
    def text(self):
        """What is on the page, as it is read."""
        return self.run("return document.body.innerText")

    def find(self, selector):
        return self._send("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self._send("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self._send("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, keys):
        """Presses keys wherever the focus is: no mouse."""
        actions = [action for key in keys for action in ({"type": "keyDown", "value": key}, {"type": "keyUp", "value": key})]
        self._send("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def accept(self):
        """Says yes to a question."""
        self._send("POST", "/alert/accept")

    def until(self, what, condition, patience=20):
        """Waits for a condition; its value."""
        until = time.monotonic() + patience
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < until, f"{what}:\n{self.text}"
            time.sleep(0.1)

    def until_text(self, part, patience=20):
        self.until(f"'{part}' on the page", lambda: part in self.text, patience)

    def paint(self, scheme):
        """In `light` or `dark`, as the reader's system says."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._send("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {"features": features}})

    def screenshot(self, path):
        pathlib.Path(path).write_bytes(base64.b64decode(self._send("GET", "/screenshot")))

    def complaints(self):
        """What the browser has written to its console: scripts' errors, and what the policy forbids."""
        return [entry["message"] for entry in self._send("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]
