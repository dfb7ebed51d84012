"""Lets a headless Firefox subscribe, get a push of `deliver` and show it, for infra/checks/browser --firefox.

    firefox.py FIREFOX LINK SERVED FOLDER STARTED

LINK signs in at the page that infra/serve --demo serves; SERVED is that script's folder. STARTED is when it was
started, in seconds since 1970. Nothing of the browser is
replaced: its own push client speaks to a push service on this machine (autopush.py), and its service worker shows what
comes. FOLDER gets the browser's profile.
"""

import json
import pathlib
import socket
import subprocess
import sys
import time

from autopush import PushService
from steps import expect, step

firefox, link = sys.argv[1:3]
served, folder = map(pathlib.Path, sys.argv[3:5])
started = float(sys.argv[5])


def until(find, why, seconds=60):
    """What `find` returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := find()):
        expect(time.monotonic() < end, why() if callable(why) else why)
        time.sleep(0.1)
    return found


class Browser:
    """A Firefox, driven by its own protocol (Marionette): length, colon, JSON."""

    def __init__(self, profile, server):
        profile.mkdir()
        settings = {
            "dom.push.serverURL": server, "dom.push.testing.allowInsecureServerURL": True, "permissions.default.desktop-notification": 1,
            # There is no desktop here that could show anything.
            "alerts.useSystemBackend": False,
            # Marionette's own settings switch push off.
            "remote.prefs.recommended": False, "marionette.port": 0, "app.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
            "browser.shell.checkDefaultBrowser": False, "network.captive-portal-service.enabled": False,
            "network.connectivity-service.enabled": False, "services.settings.server": "data:,#remote-settings-dummy/v1",
            "browser.safebrowsing.update.enabled": False, "extensions.update.enabled": False, "app.normandy.enabled": False,
        }
        (profile / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items()))
        self.process = subprocess.Popen(
            [firefox, "--headless", "--no-remote", "--marionette", "--profile", profile],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder), "MOZ_CRASHREPORTER_DISABLE": "1", **LIBRARIES})
        try:
            active = profile / "MarionetteActivePort"
            until(lambda: active.exists() and active.read_text().strip() or self.process.poll() is not None, "it does not start", 120)
            self.socket = socket.create_connection(("127.0.0.1", int(active.read_text())), timeout=120)
            self.stream = self.socket.makefile("rb")
            self.read()  # it says what it is
            self.number = 0
            self.version = self.ask("WebDriver:NewSession", {})["capabilities"]["browserVersion"]
        except BaseException:
            self.end()
            raise

    def read(self):
        length = b""
        while (digit := self.stream.read(1)) != b":":
            expect(digit, "it has ended")
            length += digit
        return json.loads(self.stream.read(int(length)))

    def ask(self, command, parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:" % len(text) + text)
        _, _, error, value = self.read()
        expect(error is None, f"{command}: {error and error['message']}")
        return value

    def open(self, address):
        self.ask("WebDriver:Navigate", {"url": address})

    def click(self, selector):
        found = self.ask("WebDriver:FindElement", {"using": "css selector", "value": selector})
        self.ask("WebDriver:ElementClick", {"id": next(iter(found["value"].values()))})

    def run(self, script):
        """The value of an asynchronous function's body in the page."""
        return self.ask("WebDriver:ExecuteAsyncScript", {
            "script": f"const done = arguments[arguments.length - 1]; (async () => {{ {script} }})().then(done, error => done(`failed: ${{error}}`))",
            "args": []})["value"]

    def text(self, selector):
        return self.run(f"return document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


# A Firefox that was only unpacked finds its libraries beside it.
beside = pathlib.Path(firefox).resolve().parents[2] / "lib/x86_64-linux-gnu"
LIBRARIES = {"LD_LIBRARY_PATH": str(beside)} if str(beside) != "/usr/lib/x86_64-linux-gnu" and beside.is_dir() else {}

subprocess.run(
    ["/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost",
     "-addext", "subjectAltName=DNS:localhost", "-keyout", folder / "service.key", "-out", folder / "service.pem"],
    check=True, capture_output=True)
service = PushService(folder / "service.pem", folder / "service.key")

# Programs read the configuration at each start.
configuration = served / "turnstone.env"
known = dict(line.split("=", 1) for line in configuration.read_text().splitlines() if "=" in line)
with open(known["WEBPUSH_CA_FILE"], "a") as authorities:
    authorities.write((folder / "service.pem").read_text())
for name in ("WEBPUSH_HOSTS", "WEBPUSH_PRIVATE_HOSTS"):
    known[name] += f",{service.host}"
changed = served / "turnstone.env.new"
changed.write_text("".join(f"{name}={value}\n" for name, value in known.items()))
changed.replace(configuration)

browser = Browser(folder / "profile", service.socket_address)
try:
    print(f"# Firefox {browser.version}", flush=True)

    @step("Firefox: a click subscribes at the push service and registers", is_needed=True)
    def _():
        browser.open(link)
        until(lambda: "A quiet game" in browser.text("#waiting"), lambda: browser.text("body"))
        until(lambda: browser.run("return !document.querySelector('#turn-on').hidden"), "there is nothing to turn on")
        browser.click("#turn-on")
        until(lambda: "are on" in browser.text("#browser-state"), lambda: browser.text("#problem") or browser.text("#browser-state"))
        expect(len(service.channels) == 1, service.channels)
        key = json.loads(browser.run("return await (await fetch('api/push/config')).text()"))
        expect(list(service.channels.values())[0] in json.dumps(key), f"subscribed with another key than {key}")

    @step("Firefox: the push of a turn is shown", is_needed=True)
    def _():
        shown = until(
            lambda: browser.run("""return (await (await navigator.serviceWorker.ready).getNotifications())
                .map(one => ({title: one.title, body: one.body, tag: one.tag}))"""),
            lambda: f"nothing is shown; acknowledged: {service.acknowledged}; pushed: {service.pushes}", 120)
        expect(shown[0]["title"] == "Your turn in Go!" and "A quiet game" in shown[0]["body"] and shown[0]["tag"], shown)
        print(f"# Firefox: the first push was shown {time.time() - started:.0f} s after infra/serve --demo was started with built programs", flush=True)
        version = service.pushes[0]["version"]
        # 100: decrypted, and handed to the service worker.
        until(lambda: service.acknowledged.get(version) == 100, lambda: service.acknowledged)
        expect(service.pushes[0]["topic"] and service.pushes[0]["urgency"], service.pushes[0])

    @step("Firefox: turning notifications off ends the subscription", is_needed=True)
    def _():
        browser.click("#turn-off")
        until(lambda: service.gone == set(service.channels), lambda: browser.text("#problem") or "it is still subscribed")
        until(lambda: browser.run("return !document.querySelector('#turn-on').hidden"), "they are still on")

    print("ok everything was tried", flush=True)
finally:
    browser.end()
