#!/usr/bin/python3
"""The programs' routes, and their fixtures as requests to them.

As a program, it checks infra/routes: it prints what is wrong with it and exits with 1.
"""

import base64
import json
import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlencode

ROOT = Path(__file__).resolve().parent.parent.parent


class Route:
    """A line of infra/routes."""

    def __init__(self, method, pattern, program):
        self.method, self.pattern, self.program = method, pattern, program
        self.key = f"{method} {pattern}"
        self.names = re.findall(r"\{(\w+)\}", pattern)
        self.rank = (pattern.count("/"), -len(self.names))
        self.regex = re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern) + "$")

    def parameters(self, path):
        """The values of the pattern's names, or None where the path is another one."""
        match = self.regex.search(path)
        return match and {name: unquote(value) for name, value in match.groupdict().items()}


def routes():
    """The routes of infra/routes. Ends the program if a line is wrong."""
    found, problems = {}, []
    for number, line in enumerate((ROOT / "infra/routes").read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        problem = wrong(line.split(), found)
        if problem:
            problems.append(f"infra/routes, line {number}: {problem}")
        else:
            route = Route(*line.split())
            found[route.key] = route
    if problems:
        sys.exit("\n".join(problems))
    return list(found.values())


def wrong(words, known):
    """What is wrong with a line; None if it is right."""
    if len(words) != 3:
        return f"a line needs a method, a pattern and a program, not {len(words)} words"
    method, pattern, program = words
    if method not in ("GET", "POST", "PUT", "PATCH", "DELETE"):
        return f"{method} is not one of GET, POST, PUT, PATCH and DELETE"
    if not re.fullmatch(r"(/([a-z0-9_-]+|\{[a-z_]+\}))+", pattern):
        return f"{pattern} must consist of / and lower-case words or {{names}}, such as /things/{{id}}"
    if not (ROOT / "functions" / program / "main.swift").exists():
        return f"there is no program {program}: functions/{program}/main.swift is missing"
    if f"{method} {pattern}" in known:
        return f"{method} {pattern} is there twice"
    return None


class Fixture:
    """One of functions/NAME/fixtures that asks something by HTTP, however it is asked."""

    def __init__(self, file):
        self.file = file
        self.program = file.parent.parent.name
        self.name = file.stem
        content = json.loads(file.read_text())
        self.answer = content.get("answer") or {}
        self.method = self.target = None
        self.headers, self.body = {}, b""
        self.is_short = False
        if "event" in content:
            self._read_event(content["event"])
        elif "stdin" in content:
            self._read_input(content["stdin"])
        else:
            variables = content.get("cgi") or content.get("watchdog") or {}
            self._read_variables(variables.get("environment", {}), variables.get("body", ""))

    def _read_event(self, event):
        if "specversion" in event:
            event = event.get("data") or {}
        http = event.get("requestContext", {}).get("http")
        if "__ow_method" in event:
            self.method, self.target = event["__ow_method"].upper(), event.get("__ow_path")
            headers, body = event.get("__ow_headers"), event.get("__ow_body")
            encoded = isinstance(body, str) and not body.startswith("{")
        elif http:
            self.method, self.target = http.get("method"), event.get("rawPath")
            headers, body = event.get("headers"), event.get("body")
            encoded = event.get("isBase64Encoded", False)
        else:
            self.method, self.target = event.get("method"), event.get("path")
            if "query" in event:
                self.target += "?" + (event["query"] if isinstance(event["query"], str) else urlencode(event["query"]))
            headers, body, encoded = event.get("headers"), event.get("body"), False
            self.is_short = True
        self.headers = {k.lower(): v for k, v in (headers or {}).items()}
        if isinstance(body, str):
            self.body = base64.b64decode(body) if encoded else body.encode()
        elif body is not None:
            self.body = json.dumps(body).encode()

    def _read_input(self, text):
        if text.lstrip().startswith("{"):
            try:
                self._read_event(json.loads(text))
            except ValueError:
                pass  # it is about an event that is none
            return
        head, _, body = text.partition("\r\n\r\n")
        lines = head.split("\r\n")
        words = lines[0].split(" ")
        if len(words) == 3:
            self.method, self.target, _ = words
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.lower()] = value.strip()
        if "transfer-encoding" in self.headers:
            body = "".join(body.split("\r\n")[1::2])
        self.body = body.encode()

    def _read_variables(self, variables, body):
        self.method = variables.get("REQUEST_METHOD") or variables.get("Http_Method")
        self.target = variables.get("REQUEST_URI")
        if "Http_Path" in variables:
            self.target = variables["Http_Path"].replace("?", "%3F")  # a watchdog's path is decoded
        for name, value in variables.items():
            if name.upper().startswith("HTTP_"):
                self.headers[name[5:].lower().replace("_", "-")] = value
        self.body = body.encode()

    @property
    def path(self):
        """Without scheme, host and query; None where nothing is asked."""
        return self.target and re.sub(r"^https?://[^/]*", "", self.target).partition("?")[0]

    def fitting(self, routes):
        """The routes at its path, whatever their methods: those of the longest pattern that fits, a word before a name."""
        fitting = [r for r in routes if self.path and r.parameters(self.path) is not None]
        best = max((r.rank for r in fitting), default=None)
        return [r for r in fitting if r.rank == best]

    def route(self, routes):
        """The route that it asks, or None. HEAD is answered as GET is."""
        method = "GET" if self.method == "HEAD" else self.method
        return next((r for r in self.fitting(routes) if r.method == method), None)

    def json(self):
        """The request's body as a value; None where there is none, or it is no JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


def fixtures():
    """Every fixture of every program that answers requests."""
    files = sorted(ROOT.glob("functions/*/fixtures/*.json"))
    return [f for f in map(Fixture, files) if f.answer]


if __name__ == "__main__":
    routes()
