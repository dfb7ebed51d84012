"""Drives the operator's page in a headless Chromium, for infra/checks/admin.

    admin.py STATUS FOLDER [SCREENSHOTS]

STATUS is the program `status`, which answers from a state folder in FOLDER. Each incident must be on the page in
words: first those that are written into that folder, then those that happen to an installation of the real programs, which
are beside STATUS.
"""

import hashlib
import http.server
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import threading

from playwright.sync_api import sync_playwright

from chromium import Chromium
from installation import Installation
from steps import expect, step

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
pictures = pathlib.Path(sys.argv[3]) if sys.argv[3:] and sys.argv[3] else None
state = folder / "state"
KEY = "server-key-1-of-thirty-two-bytes"
TOKEN = "80860575" + "0" * 56
SECRET = "0123456789abcdef" * 4
NOW = 1_795_262_400_000
HOUR = 3_600_000
PLAYER = 1783478
policy = re.search(r'Content-Security-Policy "([^"]*script-src[^"]*)"', (ROOT / "infra/nginx/turnstone.conf").read_text()).group(1)
variables = {}


class Server(http.server.BaseHTTPRequestHandler):
    """The page's files, and `status` as a CGI program."""

    def do_GET(self):
        path = self.path.split("?")[0]
        if path.startswith("/api/status"):
            return self.run()
        if not re.fullmatch(r"/(admin/)?([a-z0-9-]+\.(css|js|svg))?", path):
            return self.answer(404, "text/plain", b"")
        file = ROOT / "infra/page" / (path.removeprefix("/") + ("index.html" if path.endswith("/") else ""))
        kinds = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
        if not file.is_file():
            return self.answer(404, "text/plain", b"")
        self.answer(200, kinds[file.suffix], file.read_bytes())

    def run(self):
        environment = {
            "PATH": "/usr/bin:/bin", "GATEWAY_INTERFACE": "CGI/1.1", "REQUEST_METHOD": "GET", "REQUEST_URI": self.path,
            "SERVER_PROTOCOL": "HTTP/1.1", "TURNSTONE_STATE": str(state), "TURNSTONE_CONFIG": "/dev/null",
            "TURNSTONE_SERVER_KEY": KEY, "TURNSTONE_NOW": str(NOW), **variables}
        environment = {name: value for name, value in environment.items() if value is not None}
        if "Authorization" in self.headers:
            environment["HTTP_AUTHORIZATION"] = self.headers["Authorization"]
        head, _, body = subprocess.run([*installation.prefix, program], env=environment, stdin=subprocess.DEVNULL, capture_output=True).stdout.partition(b"\r\n\r\n")
        self.answer(int(re.match(rb"Status: (\d+)", head).group(1)), "application/json", body)

    def answer(self, status, kind, body):
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), ("Content-Security-Policy", policy), ("Cache-Control", "no-store")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def put(name, value):
    path = state / name
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lines = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in value) if name.endswith(".jsonl") else json.dumps(value)
    path.write_text(lines)


def mark(looked):
    """The mark of a player who was looked at then: Sources/Store/FORMAT.md."""
    words = [int.from_bytes(b"TSWMARK1", "little"), 0, looked, 1, 1] + [0] * 10
    total = 0x9E3779B97F4A7C15
    for word in words:
        total = (total ^ word) * 0xFF51AFD7ED558CCD % (1 << 64)
        total ^= total >> 32
    return struct.pack("<16Q", *words, total)


def day(moment):
    import datetime
    return datetime.datetime.fromtimestamp(moment / 1000, datetime.timezone.utc).strftime("%Y-%m-%d")


def sound():
    """An installation that works, with a month of pushes."""
    installation.prefix.clear()
    shutil.rmtree(state, ignore_errors=True)
    variables.clear()
    put("version.json", {"version": 3})
    shard = hashlib.sha256(str(PLAYER).encode()).hexdigest()[:2]
    put(f"users/{shard}/{PLAYER}.json", {
        "version": 1, "revision": 1, "keys": [SECRET],
        "devices": [{"token": TOKEN, "registered_at": NOW - 40 * 24 * HOUR, "name": "<b>Ann's</b> \u202ephone", "reached_at": NOW - HOUR}],
        "ledger": [{"game": 101, "phase": "play", "moves": 37, "last_move": NOW - 2 * HOUR, "notice": 1}], "notices": 1})
    put(f"looks/{shard}/{PLAYER}.json", {
        "version": 1, "revision": 1, "at": NOW - 20_000, "skipped": 0,
        "games": [{"id": 101, "name": "\u2067Old friends", "phase": "play", "current_player": PLAYER, "moves": 37, "last_move": NOW - 2 * HOUR}]})
    put("cycle.json", {"version": 1, "completed_at": NOW - 20_000, "cycles": [
        {"at": NOW - 20_000 - 30_000 * (19 - n), "took": 80 + 7 * n, "due": 5, "looked": 5, "unchanged": 4, "notices": n % 2} for n in range(20)]})
    put(f"watch/{shard}/{PLAYER}", "")
    (state / f"watch/{shard}/{PLAYER}").write_bytes(mark(looked=NOW - 20_000))
    days = {}
    number = 0
    for hours in range(24 * 29, -1, -1):
        for push in range(1 + hours % 5 if hours > 24 else 3 + (hours * 7) % 11):
            number += 1
            at = NOW - hours * HOUR - push * 1000
            line = {"id": "7c9f2a54-1f0e-8b34-9a11-%012d" % number, "n": 0, "kind": "turn", "user": str(PLAYER) if number % 3 else "ann",
                    "device": TOKEN[:8], "at": at, "apns_id": "00000000-0000-4000-8000-%012d" % number}
            if number % 29 == 0:
                line |= {"status": 410, "reason": "Unregistered", "outcome": "gone"}
            elif number % 17 == 0:
                line.pop("apns_id")
                line |= {"reason": "answered", "outcome": "superseded"}
            else:
                line |= {"status": 200, "delay": 300 + number % 7 * 400, "since_move": 8000 + number % 23 * 1500, "outcome": "accepted"}
            days.setdefault(day(at), []).append(line)
    for name, lines in days.items():
        put(f"receipts/{name}.apns.1.jsonl", sorted(lines, key=lambda line: line["at"]))


NOTIFICATION = [{"version": 1, "id": "7c9f2a54-1f0e-8b34-9a11-3d1f4f2c8e01", "user": str(PLAYER), "accepted_at": NOW - 3 * HOUR,
                 "expires_at": NOW + HOUR, "push": {"push_type": "alert", "priority": 10, "payload": {"aps": {"alert": "x"}}}},
                {"n": 0, "device": TOKEN}]


def no_cycle():
    put("cycle.json", {"version": 1, "completed_at": NOW - 2 * HOUR})


def no_answers():
    put("cycle.json", {"version": 1, "completed_at": NOW - 20_000, "unanswered_since": NOW - HOUR})


def late():
    put("spool/apns/ready/normal/7c9f2a54-1f0e-8b34-9a11-3d1f4f2c8e01.jsonl", NOTIFICATION)


def stopped():
    put("delivery.json", {"version": 1, "revision": 1, "stopped": {"apns": {
        "reason": "InvalidProviderToken", "since": NOW - HOUR, "until": NOW + HOUR, "settings": "x"}}})


def pause():
    put("ogs.json", {"version": 1, "revision": 1, "until": NOW + 120_000, "step": 3, "since": NOW - 1000})


def unreadable():
    put("spool/apns/failed/7c9f2a54-1f0e-8b34-9a11-3d1f4f2c8e01.jsonl", NOTIFICATION)


def misconfigured():
    variables["APNS_ENVIRONMENT"] = "produktion"


def set_aside():
    put("users/00/7.json.corrupt-1795262000000", {})
    put("set-aside.jsonl", [{"at": NOW - 1000, "file": "users/00/7.json.corrupt-1795262000000"}])


def newer():
    put("version.json", {"version": 99})


def broken_link():
    shutil.rmtree(state / "receipts")
    os.symlink("/nowhere/receipts", state / "receipts")


def replaced():
    shutil.rmtree(state / "looks")
    (state / "looks").write_text("")


# What happens, and what the page must say of it: what is wrong, and what to do.
INCIDENTS = [
    ("the timers are disabled", no_cycle, "check-turns has not completed a cycle since", "systemctl enable --now turnstone-check-turns"),
    ("Online-Go.com answers nothing", no_answers, "Online-Go.com has answered for none of the players", "OGS_BASE_URL"),
    ("nobody sends what is queued", late, "ready to be sent since", "systemctl enable --now turnstone-deliver"),
    ("APNs refuses the key", stopped, "Nothing is sent through apns: InvalidProviderToken", "Correct the key, the team or the topic"),
    ("Online-Go.com asks for a pause", pause, "has asked for a pause", "OGS_REQUESTS_PER_SECOND"),
    ("a notification cannot be read", unreadable, "could not be read and was moved to spool/apns/failed", "Delete each, or repair it"),
    ("a variable is wrong", misconfigured, "APNS_ENVIRONMENT", "Correct the configuration"),
    ("a document is damaged", set_aside, "A document was damaged and set aside", "Restore each from a backup"),
    ("the folder is a newer version's", newer, "its version 99 is newer", "Install a newer Turnstone"),
    ("a disk is not mounted", broken_link, "is a link to /nowhere/receipts, which does not exist", "Mount the disk"),
    ("a folder is replaced by a file", replaced, "should be a folder, but is something else", "Put the folder back"),
]


installation = Installation(pathlib.Path(program).parent, folder / "simulator", state, variables)

# The same of the real programs.
REAL_INCIDENTS = [
    ("the environment is misspelt, and deliver refuses it", installation.wrong_environment, "APNS_ENVIRONMENT", "Correct the configuration"),
    ("Apple's key is missing", installation.missing_key, "APNS_KEY_PATH", "Correct the configuration"),
    ("Apple's key is damaged", installation.damaged_key, "APNS_KEY_PATH", "Correct the configuration"),
    ("check-turns last ran two hours ago", installation.stopped_timer, "check-turns has not completed a cycle since",
     "systemctl enable --now turnstone-check-turns"),
    ("a message has waited for an hour", installation.nobody_delivers, "ready to be sent since", "systemctl enable --now turnstone-deliver"),
    ("deliver set a notification aside", installation.damaged_notification, "could not be read and was moved to spool/apns/failed",
     "Delete each, or repair it"),
    ("register set a player's document aside", installation.damaged_document, "A document was damaged and set aside", "Restore each from a backup"),
    ("the state folder is mounted read-only", installation.read_only, "unable to", "Mount its disk so that it can be written"),
    ("Online-Go.com answered 429", installation.pause, "has asked for a pause", "OGS_REQUESTS_PER_SECOND"),
    ("APNs refused deliver's key", installation.refused_key, "Nothing is sent through apns: InvalidProviderToken",
     "Correct the key, the team or the topic"),
]


def refresh():
    page.locator("#refresh").click()
    page.locator("#status", has_text="Refreshed.").wait_for()


def expect_problem(wrong, remedy):
    refresh()
    shown = text("#problems")
    expect(wrong in shown, f"no {wrong!r} in {shown!r}")
    expect(remedy in shown, f"no {remedy!r} in {shown!r}")
    expect("roblem" in text("#verdict"), text("#verdict"))


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
home = f"http://127.0.0.1:{server.server_port}/admin/"

with sync_playwright() as playwright:
    chromium = Chromium(playwright, 1200, 900, 60_000, pictures)
    text, accessible = chromium.text, chromium.accessible
    said, asked = chromium.said, chromium.asked
    browser, context = chromium.browser, chromium.context
    page = chromium.open()
    sound()

    @step("without the key the page shows nothing")
    def _():
        page.goto(home)
        page.locator("#signed-out").wait_for()
        expect(page.locator("#signed-in").is_hidden(), "it shows more")
        accessible("signed out")
        chromium.looks("admin-signed-out")

    @step("a wrong key is refused in words")
    def _():
        page.locator("#key").fill("x" * 40)
        page.keyboard.press("Enter")
        page.locator("#problem", has_text="The server key is wrong.").wait_for()
        expect(page.locator("#signed-in").is_hidden(), "it shows more")
        said.clear()  # the browser's own line about 401

    @step("a key that was copied with an invisible character is refused in words, and not sent")
    def _():
        page.locator("#key").fill(f"{KEY}\u200b")
        before = len(asked)
        page.keyboard.press("Enter")
        page.locator("#problem", has_text="U+200B").wait_for(timeout=5000)
        expect(len(asked) == before, asked[before:])

    @step("with the keyboard alone one signs in, and everything works")
    def _():
        page.locator("#key").focus()
        page.keyboard.press("Control+A")
        page.keyboard.type(KEY)
        page.keyboard.press("Enter")
        page.locator("#verdict", has_text="Everything works.").wait_for()
        accessible("signed in")
        chromium.looks("admin")

    @step("cycles, queues, pushes and devices have tables")
    def _():
        expect(page.locator("#cycles tbody tr").count() == 20, "not 20 cycles")
        expect("APNs" in text("#queues"), text("#queues"))
        expect(page.locator("#day figure").count() == 3 and page.locator("#month figure").count() == 3, "not three figures each")
        for period, steps in (("day", 24), ("month", 30)):
            label = page.locator(f"#{period} figure svg[role=img]").first.get_attribute("aria-label")
            shown = int(re.search(r"([\d,]+) accepted", label).group(1).replace(",", ""))
            page.locator(f"#{period} figure summary").first.press("Enter")
            cells = page.locator(f"#{period} figure").first.locator("tbody td:nth-child(2)").all_inner_texts()
            expect(len(cells) == steps, f"{len(cells)} rows")
            expect(shown == sum(int(cell.replace(",", "")) for cell in cells) > 0, f"{label}: {cells}")
        expect("Unregistered" in text("#month"), "no reason")
        expect("iOS" in text("#devices"), text("#devices"))
        expect("estimate" not in text("#devices-note"), text("#devices-note"))
        accessible("tables open")

    @step("a player's timeline says why no push comes")
    def _():
        page.locator("#user").fill(str(PLAYER))
        page.locator("#user").press("Enter")
        page.locator("#timeline h3", has_text=str(PLAYER)).wait_for()
        shown = text("#timeline")
        for words in ("1 game waits for the player, and each was told already", "<b>Ann's</b> phone", "Old friends", "The push service took it",
                      "the games were answered meanwhile", "The device is gone"):
            expect(words in shown, f"no {words!r} in {shown[:300]}")
        expect(not re.search("[\u202a-\u202e\u2066-\u2069]", shown), "a name turns what stands around it")
        rows = page.locator("#timeline table").last.locator("tbody tr").count()
        expect(rows == 100, f"{rows} events")
        page.locator("#timeline button", has_text="Earlier").click()
        page.locator("#timeline table").nth(3).wait_for()
        accessible("timeline")
        chromium.looks("admin-timeline")
        page.locator("#user").fill("nobody")
        page.locator("#user").press("Enter")
        page.locator("#problem", has_text="nothing is known about this user").wait_for()
        said.clear()  # the browser's own line about 404

    @step("a player's timeline names a file that cannot be read, and shows the rest")
    def _():
        for place, missing, rest in (("delivery.json", "reasons", "Old friends"), ("receipts", "events", "The receipts cannot be read now")):
            path = state / place
            kept = path.rename(state.parent / "kept") if path.exists() else None
            path.write_text("") if place == "receipts" else path.mkdir()
            page.locator("#user").fill(str(PLAYER))
            page.locator("#user").press("Enter")
            page.locator("#timeline p", has_text=f"Missing or incomplete for that: {missing}.").wait_for()
            shown = text("#timeline")
            for words in (str(path), "What to do:", "1 game waits for the player", rest):
                expect(words in shown, f"no {words!r} in {shown[:400]}")
            accessible(f"a timeline without {place}")
            path.unlink() if place == "receipts" else path.rmdir()
            if kept:
                kept.rename(path)

    @step("nothing shows a token or a key")
    def _():
        content = page.content()
        for secret in (TOKEN, TOKEN[:8], SECRET, SECRET[:16], KEY):
            expect(secret not in content, f"{secret[:8]}… is on the page")
        expect(page.evaluate("localStorage.length") == 0, "something is kept beyond the tab")
        expect(KEY not in page.url, page.url)

    for what, happens, wrong, remedy in INCIDENTS:
        @step(f"it is seen in words when {what}")
        def _():
            sound()
            happens()
            expect_problem(wrong, remedy)
            if happens is stopped:
                expect("InvalidProviderToken" in text("#queues"), text("#queues"))
                heading = page.evaluate("document.querySelector('#problems h3').offsetWidth / document.querySelector('#problems li').clientWidth")
                expect(heading > 0.5, f"the heading has {heading:.0%} of the card's width")
                accessible("a problem")
                chromium.looks("admin-problem")

    for what, happens, wrong, remedy in REAL_INCIDENTS:
        @step(f"with the real programs it is seen in words when {what}")
        def _():
            happens()
            expect_problem(wrong, remedy)
            # Without the cause, it works.
            installation.begin()
            refresh()
            expect(text("#verdict") == "Everything works.", text("#problems"))

    @step("what cannot be read now takes the place of what was shown before")
    def _():
        sound()
        refresh()
        answer = {}

        def without(route):
            found = route.fetch().json()
            for name in ("cycles", "queues", "pushes", "devices"):
                found.pop(name) if name in answer["missing"] else None
            if "some receipts" in answer["missing"]:
                found["pushes"]["complete"] = False
            route.fulfill(json=found)

        page.route("**/api/status", without)
        answer["missing"] = ["cycles", "queues", "pushes", "devices"]
        refresh()
        for element, wanted in (("cycles", "The cycles"), ("queues", "The queues"), ("day", "The receipts"), ("month", "The receipts"), ("devices", "The devices")):
            expect(text(f"#{element}") == f"{wanted} cannot be read now. The log says why.", f"{element}: {text(f'#{element}')[:100]}")
            expect(page.locator(f"#{element} figure, #{element} table").count() == 0, f"{element} shows what it showed before")
        for note in ("cycles-note", "queues-note", "pushes-note", "devices-note"):
            expect(text(f"#{note}") == "", f"{note}: {text(f'#{note}')}")
        answer["missing"] = ["some receipts"]
        refresh()
        expect("Some receipts cannot be read" in text("#pushes-note"), text("#pushes-note"))
        expect(page.locator("#month figure").count() == 3, "no figures")
        page.unroute("**/api/status")

    @step("an id that an address cannot name is no user's")
    def _():
        for name in (".", ".."):
            page.fill("#user", name)
            page.press("#user", "Enter")
            page.locator("#problem", has_text="No user has this id.").wait_for()
        refresh()

    @step("it works again afterwards, dark and narrow")
    def _():
        sound()
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 390, "height": 844})
        refresh()
        expect(text("#verdict") == "Everything works.", text("#verdict"))
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        expect(wide <= 0, f"it is {wide} pixels too wide")
        accessible("dark and narrow")

    @step("a server that does not answer is told apart")
    def _():
        context.set_offline(True)
        page.locator("#refresh").click()
        page.locator("#problem", has_text="The server does not answer.").wait_for()
        context.set_offline(False)
        said.clear()

    @step("a server that says nothing is waited for in words, and given up")
    def _():
        page.evaluate("() => { const timeout = AbortSignal.timeout; AbortSignal.timeout = ms => timeout.call(AbortSignal, ms / 10) }")
        for begun in (False, True):
            if begun:  # the answer begins, and never ends
                page.evaluate("""() => {
                    const ask = fetch
                    window.fetch = async (address, options) => {
                        const answer = new Response(new ReadableStream({start: body => options.signal?.addEventListener("abort", () => body.error(options.signal.reason))}))
                        return String(address).includes("status") ? answer : ask(address, options)
                    }
                }""")
            else:
                page.route("**/api/status", lambda route: None)
            page.locator("#refresh").click()
            page.locator("#status", has_text="Waiting for the server").wait_for(timeout=2000)
            page.locator("#problem", has_text="The server does not answer.").wait_for(timeout=10_000)
            expect(text("#status") == "", text("#status"))
            page.unroute("**/api/status")
        said.clear()

    @step("signed out, nothing is left in the tab")
    def _():
        page.locator("#sign-out").click()
        page.locator("#signed-out").wait_for()
        expect(page.evaluate("sessionStorage.length") == 0, "the key is still there")
        expect("APNs" not in page.locator("#signed-in").text_content(), "what it showed is still there")
        expect(page.input_value("#user") == "" and text("#status") == "", "what was asked is still there")

    @step("no error, and no foreign host")
    def _():
        expect(not said, "; ".join(said))
        foreign = {url for url in asked if not url.startswith(home.removesuffix("admin/"))}
        expect(not foreign, f"{foreign}")

    browser.close()
server.shutdown()
installation.close()
print("ok everything was tried")
