"""A person with a browser: pages, forms and cookies of one site."""

import html.parser
import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
import uuid


class Form:
    """A form as it came: where it goes and what is filled in."""

    def __init__(self, attributes):
        self.attributes, self.fields, self.buttons = attributes, [], []

    def with_fields(self, **changes):
        """Its fields with what a person changes; None leaves a field out."""
        kept = [(name, value) for name, value in self.fields if name not in changes]
        return kept + [(name, value) for name, value in changes.items() if value is not None]


class _Forms(html.parser.HTMLParser):
    """Reads the forms of a page."""

    def __init__(self):
        super().__init__()
        self.forms, self.select, self.area, self.options = [], None, None, []

    def handle_starttag(self, tag, attrs):
        """A form begins, or a field of one."""
        have = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.forms.append(Form(have))
        elif not self.forms:
            return
        elif tag == "select":
            self.select, self.options = have.get("name"), []
        elif tag == "option" and self.select:
            self.options.append((have.get("value", ""), "selected" in have))
        elif tag == "textarea":
            self.area = [have.get("name"), ""]
        elif tag in ("input", "button") and have.get("name"):
            self._input(tag, have)

    def _input(self, tag, have):
        kind = have.get("type", "submit" if tag == "button" else "text")
        pair = (have["name"], have.get("value", "on" if kind in ("checkbox", "radio") else ""))
        if kind in ("submit", "image", "button", "file"):
            self.forms[-1].buttons.append(pair)
        elif kind not in ("checkbox", "radio") or "checked" in have:
            self.forms[-1].fields.append(pair)

    def handle_endtag(self, tag):
        """A field of several tags ends."""
        if tag == "select" and self.select and self.forms:
            chosen = [value for value, is_chosen in self.options if is_chosen]
            chosen = chosen or [value for value, _ in self.options[:1]]
            self.forms[-1].fields += [(self.select, value) for value in chosen]
            self.select = None
        elif tag == "textarea" and self.area and self.forms:
            if self.area[0]:
                self.forms[-1].fields.append(tuple(self.area))
            self.area = None

    def handle_data(self, data):
        """What stands in a text area."""
        if self.area:
            self.area[1] += data


class _Text(html.parser.HTMLParser):
    """Reads what a page shows, without scripts and styles."""

    def __init__(self):
        super().__init__()
        self.words, self.hidden = [], 0

    def handle_starttag(self, tag, attrs):
        """What is not shown begins."""
        self.hidden += tag in ("script", "style", "head", "template")

    def handle_endtag(self, tag):
        """It ends."""
        self.hidden -= tag in ("script", "style", "head", "template")

    def handle_data(self, data):
        """Words."""
        if not self.hidden:
            self.words += data.split()


class Page:
    """An answer of the site."""

    def __init__(self, address, status, headers, body):
        self.address, self.status, self.headers = address, status, headers
        self.bytes, self.body = body, body.decode("utf-8", "replace")

    def forms(self):
        """The forms of the page."""
        reader = _Forms()
        reader.feed(self.body)
        return reader.forms

    def form(self, **attributes):
        """The first form whose attributes contain these."""
        for form in self.forms():
            if all(value in form.attributes.get(name, "") for name, value in attributes.items()):
                return form
        raise AssertionError(f"no form {attributes} in {self.address}: {self.text()[:300]}")

    def text(self):
        """What the page shows, in one line."""
        reader = _Text()
        reader.feed(self.body)
        return " ".join(reader.words)

    def json(self):
        """The document that it is."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise AssertionError(f"no JSON from {self.address}: {self.body[:300]}") from None

    def one(self, pattern):
        """The first group of a pattern's first match."""
        found = re.search(pattern, self.body, re.S)
        if not found:
            raise AssertionError(f"no {pattern!r} in {self.address}: {self.text()[:300]}")
        return found.group(1)

    def all(self, pattern):
        """All matches of a pattern."""
        return re.findall(pattern, self.body, re.S)


class Browser:
    """Cookies and requests of one person at one site."""

    def __init__(self, site, **headers):
        self.site, self.headers = site, headers
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.jar))

    def ask(self, path, data=None, method=None, headers=None):
        """Asks for a page; an error of the site is a page, too."""
        address = urllib.parse.urljoin(self.site, path)
        request = urllib.request.Request(address, data, {**self.headers, **(headers or {})},
                                         method=method)
        try:
            with self.opener.open(request, timeout=300) as answer:
                return Page(answer.url, answer.status, answer.headers, answer.read())
        except urllib.error.HTTPError as error:
            return Page(address, error.code, error.headers, error.read())

    def get(self, path, **query):
        """A page; it must be there."""
        if query:
            path += ("&" if "?" in path else "?") + urllib.parse.urlencode(query, doseq=True)
        return whole(self.ask(path))

    def post(self, path, fields, **headers):
        """Sends a form."""
        data = urllib.parse.urlencode(fields, doseq=True).encode()
        return whole(self.ask(path, data, headers=headers))

    def send(self, method, path, document, **headers):
        """Sends a document of JSON; gets one."""
        data = None if document is None else json.dumps(document).encode()
        headers = {"Content-Type": "application/json", **headers}
        return self.ask(path, data, method, headers)

    def upload(self, path, fields, files):
        """Sends a form with files: (field, name, type, bytes)."""
        mark, parts = uuid.uuid4().hex, []
        for name, value in fields:
            parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
                         f"{value}\r\n".encode())
        for field, name, kind, content in files:
            parts.append(f'--{mark}\r\nContent-Disposition: form-data; name="{field}"; '
                         f'filename="{name}"\r\nContent-Type: {kind}\r\n\r\n'.encode()
                         + content + b"\r\n")
        parts.append(f"--{mark}--\r\n".encode())
        headers = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        return whole(self.ask(path, b"".join(parts), headers=headers))


def whole(page):
    """The page, if the site could make it."""
    wrong = re.search(r"[^<>\n]{0,80}(?:Fatal error|Uncaught|database error|Database error|"
                      r"SQLSTATE\[)[^\n]{0,400}", page.body)
    if page.status >= 400 or wrong:
        what = wrong.group(0) if wrong else page.text()[:400]
        raise AssertionError(f"{page.status} from {page.address}: {what}")
    return page
