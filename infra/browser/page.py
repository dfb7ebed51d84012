"""Drives the player's page in a headless Chromium, for infra/checks/browser.

    page.py LINK SIMULATOR STARTED [SCREENSHOTS]

LINK signs in. SIMULATOR is the folder of the stand-ins. STARTED is when infra/serve was started, in seconds since 1970. The page's own PushManager is replaced by one whose
subscription the stand-in for a push service holds, because a real one needs the network. Everything behind it is
real: registration, check-turns, deliver, encryption. What the stand-in decrypts is handed to the page's service
worker as the browser does it.
"""

import datetime
import http.client
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from playwright.sync_api import sync_playwright

from chromium import Chromium
from steps import expect, step

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
link, simulator, started = sys.argv[1], pathlib.Path(sys.argv[2]), float(sys.argv[3])
pictures = pathlib.Path(sys.argv[4]) if sys.argv[4:] and sys.argv[4] else None
# The first paint with 80 games takes less than 300 ms on a quiet machine. This one fails on a gross defect only.
PAINT_LIMIT = 1000
home = link.split("#")[0]
origin = home.rstrip("/")
key = re.search(r"key=(\w+)", link).group(1)
player = re.search(r"player=(\d+)", link).group(1)
environment = dict(line.split("=", 1) for line in (simulator / "simulator.env").read_text().splitlines() if "=" in line)

FAKE = """
(() => {
    if (!location.protocol.startsWith("http")) return
    const kept = localStorage.getItem.bind(localStorage)
    const subscription = () => kept("fake") && {
        endpoint: JSON.parse(kept("fake")).endpoint, options: {applicationServerKey: null}, toJSON: () => JSON.parse(kept("fake")),
        unsubscribe: async () => { await window.removal; localStorage.removeItem("fake"); return true },
    }
    PushManager.prototype.getSubscription = async () => subscription() || null
    PushManager.prototype.subscribe = async options => {
        if (window.pushFails === "hangs") await new Promise(() => {})
        if (window.pushFails) throw new DOMException("no push service", window.pushFails)
        window.subscribedWith = options
        localStorage.setItem("fake", SUBSCRIPTION)
        return subscription()
    }
})()
"""


# The browser changes the subscription, in the worker.
CHANGE = """async other => {
    const waited = []
    const event = new ExtendableEvent("pushsubscriptionchange")
    event.waitUntil = promise => waited.push(promise)
    event.newSubscription = {...other, toJSON: () => other}
    dispatchEvent(event)
    await Promise.all(waited)
}"""


# The server's key has changed since this browser subscribed.
OTHER_KEY = """
(() => {
    const next = NEXT, former = PushManager.prototype.getSubscription
    PushManager.prototype.getSubscription = async () => {
        const found = await former()
        return found && (found.endpoint === next.endpoint ? found : {...found, options: {applicationServerKey: new Uint8Array(65).buffer}})
    }
    PushManager.prototype.subscribe = async () => {
        localStorage.setItem("fake", JSON.stringify(next))
        return former()
    }
})()
"""


def tell(command):
    """Gives the stand-ins a command. They speak HTTP/2, which Python does not."""
    return json.loads(subprocess.run(
        ["/usr/bin/curl", "--silent", "--fail", "--max-time", "10", "--cacert", simulator / "ca.pem", "--data", json.dumps(command),
         f"{environment['OGS_BASE_URL']}/simulator/command"], check=True, capture_output=True).stdout)


def until(holds, why, seconds=60):
    """why: a text, or a function that answers it when it is too late."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() >= end:
            raise AssertionError(why() if callable(why) else why)
        page.wait_for_timeout(100)


def configure(change):
    """Changes the lines of the configuration, which programs read at each start. Returns the former ones."""
    file = simulator.parent / "turnstone.env"
    lines = file.read_text().splitlines()
    changed = file.with_suffix(".new")
    changed.write_text("".join(f"{line}\n" for line in change(lines)))
    changed.replace(file)
    return lines


def notifications():
    return page.evaluate("""async () => (await (await navigator.serviceWorker.ready).getNotifications())
        .map(one => ({title: one.title, body: one.body, tag: one.tag, data: one.data}))""")


def seen(name):
    """Expects that axe-core finds nothing, and takes screenshots."""
    accessible(name)
    chromium.looks(name)


def kept(tab=None):
    """The browser's registration, as the worker has it."""
    return (tab or page).evaluate("async () => (await (await caches.open('account')).match(new URL('registration', location.href).href)).json()")


def devices(of=key):
    with urllib.request.urlopen(urllib.request.Request(f"{home}api/devices", headers={"X-API-Key": of}), timeout=10) as answer:
        return json.load(answer)["data"]


def remove(identifier):
    """Removes a device. Returns the answer's status."""
    request = urllib.request.Request(f"{home}register/{identifier}", headers={"X-API-Key": key}, method="DELETE")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as answer:
        return answer.code


def new_key(player):
    """Another API key, as infra/invite makes one."""
    master = next(line for line in (simulator.parent / "turnstone.env").read_text().splitlines() if line.startswith("MASTER_API_KEY="))
    request = urllib.request.Request(f"{home}generate-api-key", json.dumps({"user_id": player, "master_key": master.split("=", 1)[1]}).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)["api_key"]


def status_of(key):
    """The status of a request with this key."""
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{home}api-keys", headers={"X-API-Key": key}), timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as answer:
        return answer.code


with sync_playwright() as playwright:
    chromium = Chromium(playwright, 1100, 800, 120_000, pictures)
    text, picture, accessible = chromium.text, chromium.picture, chromium.accessible
    said, asked = chromium.said, chromium.asked
    browser, context = chromium.browser, chromium.context
    subscription = tell({"do": "web-subscription"})
    context.add_init_script(FAKE.replace("SUBSCRIPTION", json.dumps(json.dumps(subscription["subscription"]))))
    page = chromium.open()

    @step("without a link the page asks for one")
    def _():
        page.goto(home)
        page.locator("#signed-out").wait_for()
        expect(page.locator("#signed-in").is_hidden() and page.locator("#home-screen").is_hidden(), "it shows more")
        seen("signed-out")

    @step("an incomplete link is refused in words")
    def _():
        page.goto(f"{home}#key=abc&player=1")
        until(lambda: "incomplete" in text("#problem"), text("#problem"))
        expect("key" not in page.url, page.url)

    @step("a link that is pasted signs in, and only a whole one")
    def _():
        page.goto(home)
        page.fill("#link", "https://push.example.org/#key=0a0a")
        page.click("#sign-in button")
        until(lambda: "incomplete" in text("#problem"), text("#problem"))
        accessible("an incomplete link")
        page.fill("#link", f"  {link}\n")
        page.press("#link", "Enter")
        page.locator("#waiting li").first.wait_for()
        expect(page.input_value("#link") == "", "the link is still there")
        expect(text("#problem") == "", text("#problem"))
        expect(page.evaluate("document.activeElement.id") == "main", "the focus is lost")
        page.evaluate("localStorage.removeItem('account')")

    @step("an API key that is pasted signs in, and an unknown one is refused in words")
    def _():
        page.goto("about:blank")
        page.goto(home)
        page.fill("#link", "0a" * 32)
        page.press("#link", "Enter")
        until(lambda: "This key does not work" in text("#problem"), text("#problem"))
        expect(page.locator("#signed-in").is_hidden() and page.evaluate("localStorage.getItem('account')") is None, "it signed in")
        said.clear()  # the browser's own line about 401
        page.fill("#link", f" {key}\n")
        page.press("#link", "Enter")
        page.locator("#waiting li").first.wait_for()
        expect(player in text("#who") and text("#problem") == "" and page.url == home, text("#who") + text("#problem"))
        expect(not page.is_checked("#revoke"), "the key would be revoked")
        page.evaluate("localStorage.removeItem('account')")

    @step("a link signs in and leaves the address")
    def _():
        page.goto("about:blank")
        page.goto(link)
        page.locator("#waiting li").first.wait_for()
        expect(page.url == home, page.url)
        expect("A quiet game" in text("#waiting"), text("#waiting"))
        expect("A long game" in text("#others"), text("#others"))
        expect(text("#problem") == "", text("#problem"))
        until(lambda: page.locator("#waiting svg").count() == 1, "no board")
        found = page.locator("#waiting svg").get_attribute("aria-label")
        expect(re.fullmatch(r"Board after 2\d moves: 1\d black and 1\d white stones", found), found)
        expect("Against Ann" in text("#waiting") and "Time ends in" in text("#waiting"), text("#waiting"))

    @step("an answer that comes after a later one shows nothing of the past")
    def _():
        held = []

        def answer(route):
            if not held:
                return held.append(route)
            route.continue_()

        page.route("**/diagnostics/*", answer)
        look = "document.dispatchEvent(new Event('visibilitychange'))"
        page.evaluate(look)
        until(lambda: held, "it does not look at the games")
        with page.expect_response("**/diagnostics/*"):
            page.evaluate(look)
        past = page.evaluate("""async ([address, key]) => (await fetch(address, {headers: {"X-API-Key": key}})).json()""",
                             [held[0].request.url, key])
        past["monitored_games"] = []
        held[0].fulfill(json=past)
        page.wait_for_timeout(500)  # what it shows, it shows at once
        page.unroute("**/diagnostics/*")
        expect("A quiet game" in text("#waiting"), text("#waiting"))

    @step("a permission that is denied is said in words")
    def _():
        page.evaluate("Notification.requestPermission = async () => 'denied'")
        page.click("#turn-on")
        until(lambda: "blocks notifications" in text("#problem"), text("#problem"))
        page.reload()

    @step("what a press caused is said until the next press, however the games are looked at")
    def _():
        def look(answer):
            page.route("**/diagnostics/*", lambda route: answer(route))
            with page.expect_event("requestfinished" if answer is go_on else "requestfailed", lambda request: "/diagnostics/" in request.url):
                page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            page.wait_for_timeout(500)  # what it shows, it shows at once
            page.unroute("**/diagnostics/*")

        go_on, fail = (lambda route: route.continue_()), (lambda route: route.abort())
        page.locator("#waiting li").first.wait_for()
        page.evaluate("Notification.requestPermission = async () => 'denied'")
        look(fail)
        expect("cannot be reached" in text("#problem"), text("#problem"))
        look(go_on)
        expect(text("#problem") == "", text("#problem"))
        look(fail)
        page.click("#turn-on")
        until(lambda: "blocks notifications" in text("#problem"), text("#problem"))
        for answer in (go_on, fail, go_on):
            look(answer)
            expect("blocks notifications" in text("#problem"), text("#problem"))
        page.evaluate("Notification.requestPermission = async () => 'default'")
        page.click("#turn-on")
        until(lambda: "Not allowed yet" in text("#problem"), text("#problem"))
        page.reload()

    context.grant_permissions(["notifications"], origin=origin)

    @step("a push service that cannot be reached is said in words")
    def _():
        page.reload()
        page.locator("#turn-on").wait_for()
        page.evaluate("window.pushFails = 'AbortError'")
        page.click("#turn-on")
        until(lambda: "could not reach its push service" in text("#problem"), text("#problem"))
        page.evaluate("""() => {
            const wait = window.setTimeout
            window.setTimeout = (work, ms) => wait(work, ms / 20)
            window.pushFails = "hangs"
        }""")
        page.click("#turn-on")
        until(lambda: "Waiting for the server" in text("#status"), text("#status"))
        until(lambda: "could not reach its push service" in text("#problem"), "no answer is no problem")
        page.reload()
        page.locator("#turn-on").wait_for()

    @step("signing out while the browser asks for the permission leaves nothing")
    def _():
        page.evaluate("() => { Notification.requestPermission = () => new Promise(done => { window.allow = () => done('granted') }) }")
        page.click("#turn-on")
        until(lambda: page.evaluate("Boolean(window.allow)"), "nothing is asked")
        page.click("#sign-out")
        page.locator("#signed-out").wait_for()
        page.evaluate("window.allow()")
        page.wait_for_timeout(2000)  # what it registers, it registers at once
        expect(page.evaluate("localStorage.getItem('fake')") is None, "it has a subscription")
        expect("account" not in page.evaluate("caches.keys()"), "the worker has the key")
        expect([one for one in devices() if one["deviceName"] == "Chrome, Linux"] == [], devices())
        page.goto("about:blank")
        page.goto(link)
        page.locator("#turn-on").wait_for()

    @step("a registration that the server refuses leaves no subscription in the browser")
    def _():
        for answer, wanted in [(dict(status=409, json={"error": "x"}), "Too many devices"), (dict(status=401, json={"error": "x"}), "This key does not work"),
                               (None, "cannot be reached")]:
            page.route("**/register", lambda route: route.fulfill(**answer) if answer else route.abort())
            page.click("#turn-on")
            until(lambda: wanted in text("#problem"), text("#problem"))
            until(lambda: page.evaluate("localStorage.getItem('fake')") is None, f"{wanted}: it has a subscription")
            expect("are on" not in text("#browser-state"), text("#browser-state"))
            page.unroute("**/register")
            page.reload()
            page.locator("#turn-on").wait_for()

    @step("notifications are turned on by the keyboard")
    def _():
        page.focus("#turn-on")
        page.keyboard.press("Enter")
        until(lambda: "are on" in text("#browser-state"), text("#problem") or text("#browser-state"))
        expect(page.evaluate("document.activeElement.id") == "turn-off", "the focus is lost")
        until(lambda: "This browser" in text("#devices"), text("#devices"))

    @step("a capture, handicap stones and passes are on the board as they should be")
    def _():
        found = page.evaluate("""async () => {
            const {position} = await import("./board.js")
            const stones = board => [...position({width: 5, height: 5, ...board}).points].join("")
            return [stones({moves: "baaaab"}), stones({black: "bbdd", first: "white", moves: "cc..aa"}), stones({free: 2, moves: "aaccee"}),
                stones({moves: "ab..bb..cbaaba..ca"}), stones({width: 9, height: 9, moves: "aa.."})]
        }""")
        wanted = ["0100010000000000000000000", "2000001000002000001000000", "1000000000001000000000002", "0110011100000000000000000", "1" + "0" * 80]
        expect(found == wanted, found)

    @step("a link with a key that is not the player's changes nothing")
    def _():
        page.goto(f"{home}#key={'0' * 64}&player={player}")
        until(lambda: "does not work" in text("#problem"), text("#problem"))
        expect(key in page.evaluate("localStorage.account"), "the key was replaced")

    @step("nor does one of another player, and nothing is asked")
    def _():
        asked_to = []
        answer = lambda dialog: (asked_to.append(dialog.message), dialog.accept())
        page.on("dialog", answer)
        page.evaluate("document.querySelector('#problem').textContent = ''")
        page.goto(f"{home}#key={'1' * 64}&player={player}1")
        until(lambda: "does not work" in text("#problem"), text("#problem"))
        page.remove_listener("dialog", answer)
        expect(key in page.evaluate("localStorage.account") and not asked_to, f"the account was replaced: {asked_to}")

    @step("nor does one that could not be tried")
    def _():
        for number, answer in enumerate([dict(status=429, json={"error": "too many"}), dict(status=200, body="<html>"), None]):
            page.route("**/api-keys", lambda route: route.fulfill(**answer) if answer else route.abort())
            page.evaluate("document.querySelector('#problem').textContent = ''")
            page.goto(f"{home}#key={str(number) * 64}&player={player}")
            until(lambda: text("#problem") != "", "no problem")
            expect(key in page.evaluate("localStorage.account"), f"the key was replaced: {answer}")
            page.unroute("**/api-keys")
        page.goto(home)
        page.locator("#waiting li").first.wait_for()

    @step("nor does one with a working key of another player and this player's number")
    def _():
        foreign = new_key("77")
        page.evaluate("document.querySelector('#problem').textContent = ''")
        page.goto(f"{home}#key={foreign}&player={player}&own")
        until(lambda: "does not work" in text("#problem") or foreign in page.evaluate("localStorage.account"), "it says nothing")
        replaced = key not in page.evaluate("localStorage.account")
        if replaced:
            page.goto(link)  # for the steps that follow
            page.reload()
        expect(not replaced, "the key was replaced")
        own = new_key(player)
        page.goto(f"{home}#key={own}&player={player}")
        until(lambda: own in page.evaluate("localStorage.account"), "another key of the same player is refused")
        page.goto(link)
        until(lambda: key in page.evaluate("localStorage.account"), "the former key is refused")
        page.goto(home)
        page.locator("#waiting li").first.wait_for()

    @step("one of another player that is opened twice asks once")
    def _():
        held, questions = [], []

        def answer(dialog):
            questions.append(dialog.message)
            dialog.dismiss()

        page.on("dialog", answer)
        page.route("**/api-keys", lambda route: held.append(route))
        opened = f"#key={new_key('77')}&player=77"
        for _ in range(2):
            page.evaluate("hash => { location.hash = hash }", opened)
            page.wait_for_timeout(500)
        for route in held:
            route.continue_()
        page.unroute("**/api-keys")
        until(lambda: questions, "nothing is asked")
        page.wait_for_timeout(1000)  # what it asks, it asks at once
        expect(len(questions) == 1 and "to player 77" in questions[0], questions)
        expect(key in page.evaluate("localStorage.account"), "the account was replaced")
        # Later it asks again.
        page.evaluate("hash => { location.hash = hash }", opened)
        until(lambda: len(questions) == 2, "nothing is asked")
        page.remove_listener("dialog", answer)

    @step("accessible when signed in: light, dark, narrow")
    def _():
        seen("games")
        page.emulate_media(color_scheme="dark")
        page.set_viewport_size({"width": 340, "height": 740})
        expect(page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways")
        accessible("narrow")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1100, "height": 800})

    session = context.new_cdp_session(page)
    registrations, versions, failures = [], {}, []
    session.on("ServiceWorker.workerRegistrationUpdated", lambda event: registrations.extend(event["registrations"]))
    session.on("ServiceWorker.workerVersionUpdated",
               lambda event: versions.update({one["versionId"]: (one["status"], one["runningStatus"]) for one in event["versions"]}))
    session.on("ServiceWorker.workerErrorReported", lambda event: failures.append(event["errorMessage"]))
    session.send("ServiceWorker.enable")

    def deliver(data):
        until(lambda: registrations, "there is no service worker")
        session.send("ServiceWorker.deliverPushMessage", {
            "origin": origin, "registrationId": registrations[-1]["registrationId"], "data": data})

    def deliver_until(data, holds, why):
        # Chromium does not answer whether it handed a push to the worker, and a busy machine has lost one.
        for again in (True, False):
            deliver(data)
            try:
                return until(holds, f"{why}: {registrations}, {versions}, {failures}", 20)
            except AssertionError as error:
                if not again or failures:
                    raise
                print(f"# handed over again: {error}", flush=True)

    @step("a turn becomes a push, and the push a notification")
    def _():
        pushes = lambda: [push for push in tell({"do": "report"})["web"]["pushes"]
                          if push["subscription"] == subscription["id"] and push["accepted"]]
        until(pushes, "no push arrived at the push service", 75)
        payload = pushes()[-1]["payload"]
        deliver_until(payload if isinstance(payload, str) else json.dumps(payload), notifications, "nothing is shown")
        shown = notifications()[0]
        expect(shown["title"] == "Your turn in Go!", shown)
        expect("A quiet game" in shown["body"] and shown["tag"], shown)
        expect(shown["data"]["navigate"].endswith("/game/1001"), shown)
        print(f"# the first push was shown {time.time() - started:.0f} s after infra/serve --demo was started with built programs, in 3 steps: "
              "start it, open its link, press Notify me", flush=True)

    @step("one that is sent now arrives, and its receipt is shown")
    def _():
        page.click("#test")
        until(lambda: "Delivered to the push service" in text("#status"), text("#status") + text("#problem"))
        pushes = [push for push in tell({"do": "report"})["web"]["pushes"] if push["subscription"] == subscription["id"]]
        # Another move of the demonstration may have come since.
        expect(any("It works" in json.dumps(push["payload"]) for push in pushes), pushes[-1])
        history = text("#history")
        expect("Test" in history and "Your turn" in history and "Delivered" in history, history)
        seen("history")

    @step("a device that no push service reaches is registered again, and else said in words")
    def _():
        registered = []
        page.on("request", lambda request: registered.append(request.url) if request.url.endswith("/register") else None)
        page.route("**/api/notifications/test", lambda route: route.fulfill(
            status=409, json={"error": "no push service reaches this device at present; register it again"}))
        page.click("#test")
        until(lambda: text("#problem") != "", "no problem")
        expect("no longer takes notifications" in text("#problem"), text("#problem"))
        expect(registered, "it was not registered again")
        page.unroute("**/api/notifications/test")

    @step("a browser that was removed elsewhere shows it, and stays removed")
    def _():
        def turn_on():
            page.click("#turn-on")
            until(lambda: "are on" in text("#browser-state"), text("#problem") or text("#browser-state"))
            until(lambda: "This browser" in text("#devices"), text("#devices"))

        for see in (lambda: page.click("#test"), page.reload):
            removed = kept()["id"]
            expect(remove(removed) == 200, "it was not registered")
            see()
            until(lambda: "are off" in text("#browser-state"), text("#browser-state"))
            until(lambda: "This browser" not in text("#devices"), text("#devices"))
            expect("account" not in page.evaluate("caches.keys()") and page.evaluate("localStorage.getItem('fake')") is None, "it kept the registration")
            page.reload()
            until(lambda: page.locator("#devices li").count() > 0, "no devices")
            expect("are off" in text("#browser-state") and remove(removed) == 404, "it was registered again")
            turn_on()

    @step("an answer that is not Turnstone's is said in words")
    def _():
        for path in ("**/diagnostics/*", "**/api/preferences", "**/api/notifications?*", "**/api/devices", "**/register", "**/api/push/config"):
            for body in ("<h1>Log in to the network</h1>", "", "null", "true", "{}", "[]", '{"data": 5, "monitored_games": 5, "notifications": {}}'):
                if body.startswith('{"') and "devices" not in path and "diagnostics" not in path:
                    continue
                page.route(path, lambda route: route.fulfill(status=200, body=body))
                page.reload()
                until(lambda: text("#problem") != "", f"{path} {body!r}: no problem")
                expect("cannot be reached" in text("#problem"), f"{path} {body!r}: {text('#problem')}")
                page.unroute(path)
        for status in (401, 403, 404, 429, 502, 511):
            for body in ("<h1>Log in to the network</h1>", '{"error": 5}'):
                page.route("**/diagnostics/*", lambda route: route.fulfill(status=status, body=body))
                page.reload()
                until(lambda: text("#problem") != "", f"{status} {body!r}: no problem")
                expect("cannot be reached" in text("#problem"), f"{status} {body!r}: {text('#problem')}")
                page.unroute("**/diagnostics/*")
        page.reload()
        page.locator("#waiting li").first.wait_for()
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))

    @step("a server that takes a request and says nothing is given up")
    def _():
        page.route("**/diagnostics/*", lambda route: None)
        page.evaluate("""() => {
            const timeout = AbortSignal.timeout
            AbortSignal.timeout = ms => timeout.call(AbortSignal, ms / 30)
            document.dispatchEvent(new Event("visibilitychange"))
        }""")
        until(lambda: "cannot be reached" in text("#problem"), text("#problem"), 20)
        page.unroute("**/diagnostics/*")
        page.reload()
        page.locator("#waiting li").first.wait_for()

    @step("a server that says nothing is waited for in words, and can be asked again")
    def _():
        tab = context.new_page()
        tab.add_init_script("(() => { const timeout = AbortSignal.timeout; AbortSignal.timeout = ms => timeout.call(AbortSignal, ms / 10) })()")
        silent = re.compile("/diagnostics/|/api/|/register")
        tab.route(silent, lambda route: None)
        tab.goto(home)
        tab.locator("#status", has_text="Waiting for the server").wait_for(timeout=2000)
        tab.locator("#problem", has_text="cannot be reached").wait_for()
        until(lambda: tab.locator("#status").inner_text() == "", tab.locator("#status").inner_text())
        chromium.page = tab
        accessible("a silent server")
        picture("silent")
        chromium.page = page
        tab.unroute(silent)
        tab.get_by_role("button", name="Try again").click()
        expect(tab.evaluate("document.activeElement.id") == "main", "the focus is lost")
        for part in ("#waiting", "#devices", "#history"):
            tab.locator(f"{part} li").first.wait_for()
        until(lambda: tab.locator("#problem").inner_text() == "", tab.locator("#problem").inner_text())
        expect(not tab.locator("#wanted").evaluate("wanted => wanted.inert"), "the preferences stay locked")
        tab.close()

    @step("the keyboard's focus stays on a game that is shown again")
    def _():
        page.focus("#waiting a")
        page.evaluate("""() => {
            document.activeElement.isFormer = true
            document.dispatchEvent(new Event("visibilitychange"))
        }""")
        until(lambda: not page.evaluate("document.querySelector('#waiting a').isFormer"), "the games are not shown again")
        expect(page.evaluate("document.activeElement === document.querySelector('#waiting a')"), "it is lost")

    @step("the devices are listed though the renewal fails")
    def _():
        page.route("**/register", lambda route: route.abort())
        page.reload()
        until(lambda: "cannot be reached" in text("#problem"), text("#problem"))
        until(lambda: "Chrome, Linux" in text("#devices"), text("#devices"), 10)
        page.unroute("**/register")
        page.reload()
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))

    def entry(number, outcome="accepted"):
        return {"id": f"n{number}", "at": f"2026-11-26T07:{number:02}:00.000Z", "kind": "message", "platform": "web", "device": None, "deviceName": f"No {number}",
                "outcome": outcome, "reason": None, "explanation": "x"}

    def answer_history(route, stored):
        """Answers a page of the history as the server does: the one after an entry."""
        after = re.search(r"after=(\w+)", route.request.url)
        start = [one["id"] for one in stored].index(after[1]) + 1 if after else 0
        found = stored[start:start + 20]
        route.fulfill(json={"success": True, "notifications": found, "next": found[-1]["id"] if start + 20 < len(stored) else None, "stopped": False})

    rows = page.locator("#history li")
    names = lambda: re.findall(r"No (\d+)", text("#history"))
    pushed = "navigator.serviceWorker.dispatchEvent(new MessageEvent('message', {data: 'pushed'}))"

    @step("a push that arrives leaves the history that was loaded")
    def _():
        stored = [entry(number) for number in range(45, 0, -1)]
        page.route("**/api/notifications?*", lambda route: answer_history(route, stored))
        page.reload()
        until(lambda: rows.count() == 20, rows.count())
        for wanted in (40, 45):
            page.click("#history-more")
            until(lambda: rows.count() == wanted, rows.count())
        # The button is gone, and the keyboard goes on from what it brought.
        expect(page.evaluate("document.activeElement.id") == "history", "the focus is lost")
        # A new one; what waited was tried again.
        stored[0]["outcome"] = "waiting"
        page.evaluate(pushed)
        until(lambda: "Is tried again soon" in text("#history"), text("#history")[:200])
        expect(rows.count() == 45, f"{rows.count()} are left of 45")
        stored[0] = entry(46)
        stored.insert(0, entry(47))
        page.evaluate(pushed)
        until(lambda: "No 47" in text("#history"), text("#history")[:200])
        expect(names() == [str(number) for number in (47, 46, *range(44, 0, -1))], names())
        expect(page.locator("#history-more").is_hidden(), "older ones are offered")
        # More than a page of new ones: what is between is not known, so the list ends before it.
        stored[:0] = [entry(number) for number in range(59, 47, -1)] + [{**one, "id": f"m{one['id']}"} for one in stored[:20]]
        page.evaluate(pushed)
        until(lambda: names()[0] == "59", names())
        expect(rows.count() == 20 and page.locator("#history-more").is_visible(), rows.count())
        page.unroute("**/api/notifications?*")

    @step("a push that arrives during a press for older entries is shown, and so are they")
    def _():
        stored, held = [entry(number) for number in range(45, 0, -1)], []
        is_held = lambda address: False
        page.route("**/api/notifications?*", lambda route: held.append(route) if is_held(route.request.url) else answer_history(route, stored))
        page.goto(link)
        page.reload()
        until(lambda: rows.count() == 20, rows.count())
        press = lambda: page.click("#history-more")
        push = lambda: page.evaluate(pushed)
        # Each of the two is the one whose answer comes last.
        for first, second, is_held, count in ((press, push, lambda address: "after=" in address, 41), (push, press, lambda address: "after=" not in address, 47)):
            stored.insert(0, entry(len(stored) + 1))
            before = rows.count()
            first()
            until(lambda: held, "nothing is asked")
            second()
            until(lambda: rows.count() > before, rows.count())
            answer_history(held.pop(), stored)
            until(lambda: rows.count() == count, f"{rows.count()} entries instead of {count}: {names()}", 10)
            expect(names() == [str(number) for number in range(len(stored), len(stored) - count, -1)], names())
        expect(page.locator("#history-more").is_hidden(), "older ones are offered")
        page.unroute("**/api/notifications?*")

    @step("a history of which some is missing says so, on whatever page")
    def _():
        stored = [entry(number) for number in range(25, 0, -1)]

        def answer(route, missing):
            found = stored[20:] if "after=" in route.request.url else stored[:20]
            isLast = found[-1] == stored[-1]
            route.fulfill(json={"success": True, "notifications": found, "next": None if isLast else "n6", "stopped": False, **({"incomplete": True} if missing(isLast) else {})})

        missing = lambda isLast: isLast
        page.route("**/api/notifications?*", lambda route: answer(route, missing))
        page.reload()
        until(lambda: rows.count() == 20, rows.count())
        expect("Some cannot be read now." not in text("#history"), text("#history"))
        page.click("#history-more")
        until(lambda: rows.count() == 26 and "Some cannot be read now." in rows.last.inner_text(), text("#history"))
        expect(page.evaluate("document.activeElement.id") == "history", "the focus is lost")
        missing = lambda isLast: not isLast
        page.reload()
        until(lambda: rows.count() == 21 and "Some cannot be read now." in text("#history"), text("#history"))
        missing = lambda isLast: False
        page.evaluate(pushed)
        until(lambda: rows.count() == 20, f"it still says so: {text('#history')}")
        page.unroute("**/api/notifications?*")

    @step("the history shows what this page does not know yet by its raw word")
    def _():
        entries = [{"id": f"n{outcome}", "at": "2026-11-26T07:00:00.000Z", "kind": kind, "platform": platform, "device": None, "deviceName": None, "outcome": outcome,
                    "reason": reason, "explanation": "x"} for outcome, reason, kind, platform in
                   [("accepted", None, "turn", "web"), ("teleported", None, "turn", "web"), ("teleported", "{why}", "x", "fridge"), ("constructor", "constructor", "constructor", "constructor"),
                    ("superseded", "constructor", None, "ios")]]
        page.route("**/api/notifications?*", lambda route: route.fulfill(json={"success": True, "notifications": entries, "next": None, "stopped": False}))
        page.reload()
        until(lambda: page.locator("#history li").count() == len(entries), text("#history") + text("#problem"))
        shown = text("#history")
        for wanted in ("Delivered to the push service", "teleported", "teleported ({why})", "fridge", "constructor (constructor)", "out of date. (constructor)"):
            expect(wanted in shown, f"no {wanted!r} in {shown!r}")
        expect(text("#problem") == "", text("#problem"))
        page.unroute("**/api/notifications?*")
        page.reload()
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))

    @step("a foreign name turns nothing but itself")
    def _():
        names = ["\u202egnp.ecived\u2066", "\u05d0\u05d1\u05d2", "Ann", "Ann", None, None]
        own = kept()["id"]  # before the page asks for its devices by itself
        page.route("**/api/devices", lambda route: route.fulfill(json={"data": [
            {"id": f"d{number}" if number else own, "platform": "web", "deviceName": name, "createdAt": None, "updatedAt": None, "reachedAt": "2026-11-26T07:00:00.000Z"}
            for number, name in enumerate(names)]}))
        game = {"game_id": 7, "game_name": names[0], "opponent": names[0], "is_your_turn": True, "last_move_timestamp": 0, "expiration": 0}
        page.route("**/diagnostics/*", lambda route: route.fulfill(json={"monitored_games": [game]}))
        page.reload()
        until(lambda: page.locator("#devices li").count() == len(names), text("#devices"))
        until(lambda: "ecived" in text("#waiting"), text("#waiting"))
        found = page.evaluate("""() => [...document.querySelectorAll("#devices li")].map(row => [...row.querySelectorAll("bdi")].map(one => one.getBoundingClientRect().left))""")
        buttons = page.evaluate("[...document.querySelectorAll('#devices button')].map(one => one.ariaLabel)")
        expect(len(set(buttons)) == len(names), f"some are named the same: {buttons}")
        for lefts in found[1:4]:
            expect(len(lefts) == 3 and lefts == sorted(lefts), f"the facts are not in their order: {found}")
        controls = page.evaluate("document.documentElement.outerHTML.match(/[\\u202a-\\u202e\\u2066-\\u2069]/g)")
        expect(controls is None, f"{controls}")
        page.unroute("**/api/devices")
        page.unroute("**/diagnostics/*")
        page.reload()
        page.locator("#waiting li").first.wait_for()

    @step("a key that was revoked is said in words, not that notifications are on")
    def _():
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))
        page.route("**/diagnostics/*", lambda route: route.fulfill(status=401, json={"error": "Invalid API key"}))
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: "This key does not work" in text("#browser-state"), text("#browser-state"))
        expect(page.locator("#test").is_hidden() and page.locator("#turn-on").is_hidden(), "what needs the key is offered")
        expect(page.locator("#turn-off").is_visible(), "the browser cannot be taken off")
        page.unroute("**/diagnostics/*")
        page.route("**/register", lambda route: route.fulfill(status=401, json={"error": "Invalid API key"}))
        page.reload()
        until(lambda: "This key does not work" in text("#browser-state"), text("#browser-state"))
        expect(page.evaluate("localStorage.getItem('fake')") is not None, "the subscription is lost")
        page.unroute("**/register")
        page.reload()
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))

    @step("the history says in each language why a push was not sent")
    def _():
        code = (ROOT / "Sources/Turnstone/ReceiptReason.swift").read_text()
        reasons = re.findall(r"\w+", re.search(r"supersessions = \[(.*?)\]", code, re.S).group(1))
        texts = page.evaluate("""async reasons => {
            const {outcomeText} = await import("./history.js")
            const {languages, showTexts, want} = await import("./texts.js")
            const found = Object.keys(languages).map(name => {
                want(name)
                showTexts()
                return [...reasons.map(reason => outcomeText({outcome: "superseded", reason})),
                    outcomeText({outcome: "waiting", reason: "held"}), outcomeText({outcome: "waiting", reason: "TooManyRequests", status: 429})]
            })
            want("en")
            showTexts()
            localStorage.removeItem("language")
            return found
        }""", reasons)
        for own in texts:
            expect(len(set(own)) == len(reasons) + 2, f"two are the same: {own}")
            named = [text for text in own if re.search(r"\(\w+\)$", text)]
            expect(not named, f"not in words: {named}")
        expect(len(reasons) > 5 and len({own[0] for own in texts}) == 6, f"{len(reasons)} reasons: {texts}")

    @step("the devices are listed, and one is removed")
    def _():
        until(lambda: page.locator("#devices li").count() == 2, text("#devices"))
        expect("Chrome, Linux" in text("#devices"), text("#devices"))
        page.locator("#devices li").filter(has_not_text="This browser").get_by_role("button").click()
        until(lambda: "was removed" in text("#status"), text("#status") + text("#problem"))
        until(lambda: page.locator("#devices li").count() == 1, text("#devices"))
        expect("are on" in text("#browser-state"), text("#browser-state"))

    @step("a mute says why the next one waits")
    def _():
        page.click("#mute-hour")
        until(lambda: "Muted until" in text("#mute-state"), text("#problem"))
        page.click("#test")
        until(lambda: "Waits for the end of your mute" in text("#status"), text("#status") + text("#problem"))
        page.click("#unmute")
        until(lambda: text("#mute-state") == "", text("#problem"))
        until(lambda: "saved" in text("#status"), "a screen reader says nothing", 5)

    @step("80 games, each with a board")
    def _():
        many = page.evaluate("""async ([address, key]) => (await fetch(address, {headers: {"X-API-Key": key}})).json()""",
                             [f"{home}diagnostics/{player}?details=true", key])
        game = many["monitored_games"][0]
        moves = "".join(chr(97 + i * 7 % 19) + chr(97 + i * 11 // 19 % 19) for i in range(200))
        many["monitored_games"] = [{**game, "game_id": i, "is_your_turn": i < 9, "board": {"width": 19, "height": 19, "moves": moves}}
                                   for i in range(80)]
        page.route("**/diagnostics/*", lambda route: route.fulfill(json=many))
        page.reload()
        until(lambda: page.locator("svg.board").count() == 80, "not all boards")
        painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        shown = page.evaluate("performance.getEntriesByName('games-shown')[0].startTime")
        print(f"# 80 games: first paint after {painted:.0f} ms, all boards after {shown:.0f} ms")
        expect(painted < PAINT_LIMIT, f"the first paint took {painted:.0f} ms")
        picture("80-games")
        accessible("80 games")
        page.unroute("**/diagnostics/*")
        page.reload()

    @step("a foreign page can do nothing with a signed-in browser")
    def _():
        class Foreign(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>foreign</title>")

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Foreign)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        # The demonstration's own notices arrive meanwhile, so only those that a player asks for count.
        asked_for = lambda: sum("It works" in json.dumps(push["payload"]) for push in tell({"do": "report"})["web"]["pushes"])
        # A push that was accepted is sent within four seconds. First those of earlier steps.
        before = None
        while before != asked_for():
            before = asked_for()
            page.wait_for_timeout(4000)
        other = context.new_page()
        other.goto(f"http://127.0.0.1:{server.server_address[1]}/")
        found = other.evaluate("""async home => {
            const tried = async (path, options) => {
                try { return (await fetch(home + path, {credentials: "include", ...options})).status } catch (error) { return error.name }
            }
            const frame = document.createElement("iframe")
            frame.src = home
            document.body.append(frame)
            await new Promise(done => { frame.onload = done; setTimeout(done, 5000) })
            let framed
            try { framed = frame.contentDocument?.title ?? "" } catch { framed = "another origin's" }
            return [await tried("api/notifications"), await tried("api/devices"),
                await tried("api/notifications/test", {method: "POST", body: "{}"}),
                await tried("register", {method: "POST", headers: {"X-API-Key": "0".repeat(64)}, body: "{}"}),
                await tried("api/preferences", {method: "PUT", body: "{}"}), frame.contentWindow.length, framed]
        }""", home)
        frames = [frame.url for frame in other.frames[1:]]
        other.close()
        server.shutdown()
        expect(found[:5] == ["TypeError"] * 5, found)
        expect(found[6] != "Turnstone" and not any(url.startswith(home) for url in frames), (found, frames))
        page.wait_for_timeout(4000)
        expect(asked_for() == before, "a push was sent")

    @step("malformed pushes show a notification too")
    def _():
        bodies = set()
        for data in ["", "{", "[]", "null", "7", "\x00", "\ufffd" * 50, "x" * 3000, '{"notification": 7}', '{"notification": {"title": 7}}',
                     '{"notification": null, "app_badge": -1}', '{"notification": {"title": "", "body": "B"}}',
                     '{"notification": {"title": "T", "body": {"a": []}, "data": 7, "navigate": [], "silent": "x"}}',
                     '{"notification": {"title": "T", "silent": true, "vibrate": [1], "icon": "http://["}}',
                     '{"notification": {"title": "T", "body": 1, "tag": [], "actions": [1, null, {}], "timestamp": "x", "renotify": true, "vibrate": "y"}}']:
            # The browser takes old ones away by itself, so counting them would not do.
            page.evaluate("async () => (await (await navigator.serviceWorker.ready).getNotifications()).forEach(one => one.close())")
            until(lambda: not notifications(), "they do not close")
            deliver_until(data, notifications, f"nothing is shown for {data!r}")
            bodies.update(one["body"] for one in notifications())
        expect("There is news about your games." in bodies, "not the page's own text")

    @step("a malformed push keeps its tag and its address, so a later one replaces it")
    def _():
        page.evaluate("async () => (await (await navigator.serviceWorker.ready).getNotifications()).forEach(one => one.close())")
        until(lambda: not notifications(), "they do not close")
        for number, members in enumerate([{"title": "T1", "actions": [{"action": "a"}]}, {"title": "T2", "body": "B", "dir": "up"}, {"title": 7}, {"body": 7, "vibrate": "x"}]):
            address = f"https://a.example/{number}"
            deliver_until(json.dumps({"notification": {"tag": "same", "navigate": address, **members}}),
                          lambda: any((one["data"] or {}).get("navigate") == address for one in notifications()), f"nothing is shown for {members}")
            expect([one["tag"] for one in notifications()] == ["same"], notifications())

    worker = context.service_workers[0]

    @step("a push sets the badge")
    def _():
        worker.evaluate("() => { navigator.setAppBadge = async badge => { self.badge = badge } }")
        deliver('{"web_push": 8030, "app_badge": 7, "notification": {"title": "T", "tag": "t", "app_badge": 7}}')
        until(lambda: worker.evaluate("self.badge") == 7, "no badge")

    @step("the badge falls to the games that wait when the page looks at them")
    def _():
        page.evaluate("""() => {
            navigator.setAppBadge = async badge => { window.badge = badge }
            document.dispatchEvent(new Event("visibilitychange"))
        }""")
        until(lambda: page.evaluate("window.badge") == page.locator("#waiting li").count() > 0, page.evaluate("window.badge"))
        page.route("**/diagnostics/*", lambda route: route.fulfill(json={"monitored_games": [], "site": "https://go.example.org"}))
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: page.evaluate("window.badge") == 0, page.evaluate("window.badge"))
        page.unroute("**/diagnostics/*")

    @step("games are where the server says")
    def _():
        game = {"game_id": 7, "game_name": "", "is_your_turn": True, "last_move_timestamp": 0, "expiration": 0}
        for answer, wanted in (({}, "https://online-go.com/game/7"), ({"site": "https://go.example.org"}, "https://go.example.org/game/7")):
            page.route("**/diagnostics/*", lambda route: route.fulfill(json={"monitored_games": [game], **answer}))
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            until(lambda: page.locator("#waiting a").first.get_attribute("href") == wanted, page.locator("#waiting a").first.get_attribute("href"))
            page.unroute("**/diagnostics/*")

    @step("a push with the same tag replaces the notification")
    def _():
        deliver_until('{"notification": {"title": "U", "tag": "t"}}', lambda: any(one["title"] == "U" for one in notifications()), "nothing is shown")
        expect(len([one for one in notifications() if one["tag"] == "t"]) == 1, "there are two")

    @step("a click opens the game, an action its own address, and the page only if nothing else fits")
    def _():
        def opened(members, action=""):
            return worker.evaluate("""async ([members, action]) => {
                for (const one of await registration.getNotifications()) one.close()
                const opened = []
                clients.openWindow = async address => { opened.push(address) }
                WindowClient.prototype.focus = async function () { opened.push("focus " + this.url) }
                await registration.showNotification("T", {data: options(members).data})
                const [notification] = await registration.getNotifications()
                const waited = []
                const event = new NotificationEvent("notificationclick", {notification, action})
                event.waitUntil = promise => waited.push(promise)
                dispatchEvent(event)
                await Promise.all(waited)
                return opened.join()
            }""", [members, action])

        actions = [{"action": "a", "title": "A", "navigate": "https://b.example/2"}]
        for members, action, wanted in [
                ({"navigate": "https://a.example/1"}, "", "https://a.example/1"),
                ({"navigate": "https://a.example/1", "actions": actions}, "a", "https://b.example/2"),
                ({"navigate": "https://a.example/1", "actions": actions}, "c", "https://a.example/1"),
                ({"navigate": home}, "", f"focus {home}"), ({}, "", f"focus {home}"), ({"navigate": 7}, "", f"focus {home}"),
                ({"navigate": "javascript:alert(1)"}, "", f"focus {home}"), ({"navigate": "http://a.example/"}, "", f"focus {home}"),
                ({"navigate": "https://"}, "", f"focus {home}"), ({"actions": 7}, "a", f"focus {home}"),
                ({"actions": [None, 7, {"action": "a"}]}, "a", f"focus {home}")]:
            found = opened(members, action)
            expect(found == wanted, f"{members} {action} opened {found}")

    @step("a subscription that the browser changed is registered, and the former one removed")
    def _():
        former = kept()["id"]
        other = tell({"do": "web-subscription"})["subscription"]
        worker.evaluate(CHANGE, other)
        expect(kept()["id"] != former, "it is the former one")
        expect(remove(former) == 404, "the former one is still registered")
        page.evaluate("other => localStorage.setItem('fake', JSON.stringify(other))", other)
        names = {one["id"]: one["deviceName"] for one in devices()}
        expect(names[kept()["id"]] == "Chrome, Linux", names)
        page.reload()
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))

    @step("it is registered too if the player has as many devices as allowed")
    def _():
        former, limit = kept()["id"], len(devices())
        other = tell({"do": "web-subscription"})["subscription"]
        lines = configure(lambda lines: [*lines, f"DEVICES_PER_USER={limit}"])
        try:
            worker.evaluate(CHANGE, other)
        finally:
            configure(lambda _: lines)
        page.evaluate("other => localStorage.setItem('fake', JSON.stringify(other))", other)
        expect(kept()["id"] != former, "it is the former one")
        expect([one["id"] for one in devices()].count(kept()["id"]) == 1 and len(devices()) == limit, devices())
        page.reload()
        until(lambda: "are on" in text("#browser-state"), text("#browser-state"))

    @step("so is the one after the server's key has changed, and what is refused is not said to be on")
    def _():
        def opened(answer=None):
            tab = context.new_page()
            tab.add_init_script(OTHER_KEY.replace("NEXT", json.dumps(tell({"do": "web-subscription"})["subscription"])))
            if answer:
                tab.route("**/register", answer)
            tab.goto(home)
            return tab

        former, limit = kept()["id"], len(devices())
        lines = configure(lambda lines: [*lines, f"DEVICES_PER_USER={limit}"])
        try:
            tab = opened()
            until(lambda: kept()["id"] != former, "it is the former one", 20)
            tab.locator("#browser-state", has_text="are on").wait_for()
            expect([one["id"] for one in devices()].count(kept()["id"]) == 1 and len(devices()) == limit, devices())
            tab.close()
        finally:
            configure(lambda _: lines)
        tab = opened(lambda route: route.abort())
        tab.locator("#problem", has_text="cannot be reached").wait_for()
        tab.locator("#browser-state", has_text="are off").wait_for()
        tab.unroute("**/register")
        tab.get_by_role("button", name="Try again").click()
        tab.locator("#browser-state", has_text="are on").wait_for()
        tab.close()
        tab = opened(lambda route: route.fulfill(status=409, json={"error": "x"}))
        tab.locator("#problem", has_text="Too many devices").wait_for()
        tab.locator("#browser-state", has_text="are off").wait_for()
        tab.close()
        page.reload()
        page.locator("#turn-on").click()
        until(lambda: "are on" in text("#browser-state"), text("#problem") or text("#browser-state"))

    @step("preferences cannot be changed before the page knows them")
    def _():
        held = []
        page.route("**/api/preferences", lambda route: held.append(route))
        page.reload()
        until(lambda: held, "it does not ask for them")
        page.wait_for_timeout(500)  # what can be changed, can be changed at once
        page.evaluate("document.getElementById('quiet').focus()")
        changeable = page.evaluate("document.activeElement.id") == "quiet"
        held[0].continue_()
        page.unroute("**/api/preferences")
        expect(not changeable, "the answer would take the change away")
        until(lambda: not page.locator("#wanted").evaluate("wanted => wanted.inert"), "they stay locked")

    @step("preferences that could not be read are asked for again")
    def _():
        page.route("**/api/preferences", lambda route: route.abort())
        page.reload()
        until(lambda: "cannot be reached" in text("#problem"), text("#problem"))
        expect(page.locator("#wanted").evaluate("wanted => wanted.inert"), "they can be changed unread")
        page.unroute("**/api/preferences")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        until(lambda: not page.locator("#wanted").evaluate("wanted => wanted.inert"), "they stay locked")

    @step("preferences are saved")
    def _():
        page.locator("#quiet").check()
        expect(page.input_value("#quiet-zone") == "Europe/Berlin", "another time zone than the browser's")
        page.click("#preferences button")
        until(lambda: "saved" in text("#status"), text("#problem"))
        page.click("#mute-hour")
        until(lambda: "Muted until" in text("#mute-state"), text("#problem"))
        page.reload()
        until(lambda: page.locator("#quiet").is_checked() and "Muted until" in text("#mute-state"), "forgotten")
        page.click("#unmute")
        until(lambda: text("#mute-state") == "", text("#problem"))

    @step("a press that ends well leaves the problem that came meanwhile")
    def _():
        held = []
        page.route("**/api/preferences", lambda route: held.append(route))
        page.click("#preferences button")
        until(lambda: held, "nothing is saved")
        page.evaluate("location.hash = 'key=abc&player=1'")
        until(lambda: "incomplete" in text("#problem"), text("#problem"))
        held[0].continue_()
        page.unroute("**/api/preferences")
        until(lambda: "saved" in text("#status"), text("#status"))
        expect("incomplete" in text("#problem"), text("#problem"))

    @step("a wrong time zone is refused in words")
    def _():
        page.fill("#quiet-zone", "Europe/Nowhere")
        page.click("#preferences button")
        until(lambda: "refused" in text("#problem"), text("#problem"))

    @step("another tab's language leaves what was not saved yet")
    def _():
        page.fill("#quiet-zone", "Asia/Tokyo")
        tab = context.new_page()
        tab.goto(home)
        tab.locator("#signed-in").wait_for()
        asked_for = []
        page.on("request", lambda request: asked_for.append(request.url))
        tab.select_option("#language", "de")
        tab.get_by_text("Ruhezeit").first.wait_for()
        tab.select_option("#language", "en")
        tab.close()
        page.wait_for_timeout(1000)
        expect(page.input_value("#quiet-zone") == "Asia/Tokyo", page.input_value("#quiet-zone"))
        expect(not [address for address in asked_for if "preferences" in address], "the preferences were read again")
        page.reload()
        page.locator("#waiting li").first.wait_for()

    @step("so does another language of this one")
    def _():
        page.fill("#quiet-from", "21:15")
        page.check("#revoke")
        for language, words in (("de", "Du bist am Zug"), ("en", "Your turn")):
            page.select_option("#language", language)
            until(lambda: words in text("#waiting-title") and words in text("#kinds"), text("#kinds"))
            page.wait_for_timeout(1000)  # the answers come at once
            expect(page.input_value("#quiet-from") == "21:15" and page.is_checked("#revoke"), page.input_value("#quiet-from"))
        page.uncheck("#revoke")

    @step("preferences that changed elsewhere are shown instead")
    def _():
        page.reload()
        until(lambda: page.locator("#quiet").is_checked(), "forgotten")
        request = urllib.request.Request(f"{home}api/preferences", b'{"kinds": {"comment": false}}',
                                         {"X-API-Key": key, "Content-Type": "application/json"}, method="PUT")
        urllib.request.urlopen(request, timeout=10).close()
        page.click("#preferences button")
        until(lambda: "changed elsewhere" in text("#problem"), text("#problem"))
        expect(not page.locator("#quiet").is_checked() and "comment" in text("#kinds"), "not what is stored")

    @step("each language is shown, and becomes that of the notices")
    def _():
        asked_for = []
        page.on("request", lambda request: asked_for.append(request.post_data_json["language"]) if request.method == "PATCH" else None)
        for language in ["de", "fr", "ja", "ko", "zh-Hans", "en"]:
            page.select_option("#language", language)
            until(lambda: page.evaluate("document.documentElement.lang") == language, language)
            # The devices come last, once the subscription was renewed.
            until(lambda: page.evaluate("""async () => (await import("./texts.js")).text("devices.remove")""") == text("#devices button"), text("#devices"))
            expect("undefined" not in text("body") and "{" not in text("body"), text("body"))
            expect(asked_for[-1:] == [language], asked_for)
            expect(text("#problem") == "", text("#problem"))
            picture(f"language-{language}")

    @step("the page opens offline, and says so")
    def _():
        context.set_offline(True)
        page.reload()
        until(lambda: "cannot be reached" in text("#problem"), text("#problem"))
        until(lambda: "are on" in text("#browser-state"), "the browser has forgotten")
        context.set_offline(False)
        page.reload()
        until(lambda: page.locator("#waiting li").count() > 0, "no games")

    @step("the page opens although its server takes requests and says nothing")
    def _():
        worker.evaluate("() => { self.answering = fetch; self.fetch = () => new Promise(() => {}) }")
        begun = time.monotonic()
        page.reload()
        until(lambda: page.locator("#waiting li").count() > 0, "no games")
        took = time.monotonic() - begun
        worker.evaluate("() => { self.fetch = self.answering }")
        expect(3 < took < 20, f"after {took:.0f} s")
        # The first answer is late: it ends the impatience.
        for _ in range(2):
            page.reload()
            page.locator("#waiting li").first.wait_for()
        expect(worker.evaluate("patience") == 5000, "the network does not come first any more")

    @step("signing out during a renewal leaves nothing")
    def _():
        former, other = kept()["id"], tell({"do": "web-subscription"})["subscription"]
        worker.evaluate("""() => {
            self.quick = fetch
            self.fetch = async (...values) => {
                const answer = await quick(...values)
                if (String(values[0]).endsWith("/register")) {
                    self.isRegistering = true
                    await new Promise(done => setTimeout(done, 2000))
                }
                return answer
            }
        }""")
        worker.evaluate(f"other => {{ self.change = ({CHANGE})(other) }}", other)
        until(lambda: worker.evaluate("self.isRegistering"), "no renewal")
        page.click("#sign-out")
        page.locator("#signed-out").wait_for()
        worker.evaluate("async () => { await self.change.catch(() => {}); self.fetch = self.quick }")
        until(lambda: text("#status") == "You are signed out.", text("#status"))
        expect("account" not in page.evaluate("caches.keys()"), "the worker still has the key")
        expect([one["id"] for one in devices() if one["deviceName"] == "Chrome, Linux"] == [] and remove(former) == 404, devices())
        page.goto("about:blank")
        page.goto(link)
        page.locator("#turn-on").wait_for()
        page.click("#turn-on")
        until(lambda: "are on" in text("#browser-state"), text("#problem") or text("#browser-state"))

    @step("signing out forgets the key at once though the server says nothing, and says what it was not told")
    def _():
        def sign_out(path, answer):
            held = []
            page.route(path, lambda route: held.append(route))
            if "push" in path:
                page.reload()  # and renews, which sign-outs wait for
                until(lambda: held, "no renewal")
            page.locator("#sign-out").click()
            until(lambda: page.evaluate("localStorage.getItem('account')") is None, "the key is kept", 3)
            until(lambda: "account" not in page.evaluate("caches.keys()"), "the worker keeps the key", 3)
            until(lambda: page.evaluate("localStorage.getItem('fake')") is None, "the subscription is kept", 3)
            until(lambda: text("#status") == "You are signed out. Waiting for the server…", text("#status"), 3)
            expect(page.locator("#signed-out").is_visible() and text("#problem") == "", text("#problem"))
            until(lambda: held, "the server is not told")
            answer(held[0])
            page.unroute(path)
            until(lambda: text("#status") == "You are signed out.", text("#status"))

        registered = kept()["id"]
        sign_out("**/register/*", lambda route: route.abort())
        expect("could not be told" in text("#problem") and "cannot be reached" in text("#problem"), text("#problem"))
        expect(remove(registered) == 200, "the server was told")
        for path in ("**/api/push/config", None):
            page.goto("about:blank")
            page.goto(link)
            page.locator("#turn-on").click()
            until(lambda: "are on" in text("#browser-state"), text("#problem") or text("#browser-state"))
            if not path:
                break
            registered = kept()["id"]
            sign_out(path, lambda route: route.continue_())
            expect(text("#problem") == "" and remove(registered) == 404, "it is still registered")
            expect("account" not in page.evaluate("caches.keys()") and page.evaluate("localStorage.getItem('fake')") is None, "the renewal brought it back")

    @step("installations below prefixes of one host share nothing")
    def _():
        class Prefix(http.server.BaseHTTPRequestHandler):
            isPortal = False

            def forward(self):
                if Prefix.isPortal:
                    self.send_response(200)
                    self.send_header("Content-Type", "text/html")
                    self.end_headers()
                    self.wfile.write(b"<h1>Log in to the network</h1>")
                    return
                upstream = http.client.HTTPConnection(home.split("/")[2], timeout=30)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                upstream.request(self.command, re.sub("^/[ab]/", "/", self.path), body,
                                 {name: self.headers[name] for name in ("X-API-Key", "Content-Type") if name in self.headers})
                answer = upstream.getresponse()
                content = answer.read()
                self.send_response(answer.status)
                for name in ("Content-Type", "Content-Security-Policy"):
                    if answer.headers[name]:
                        self.send_header(name, answer.headers[name])
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                upstream.close()

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = forward

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Prefix)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        host = f"http://localhost:{server.server_address[1]}"
        shared = browser.new_context(locale="en-GB")
        first, second = shared.new_page(), shared.new_page()
        ready = "navigator.serviceWorker.ready.then(found => new Promise(done => { const wait = () => found.active?.state === 'activated' ? done() : setTimeout(wait, 50); wait() }))"
        first.goto(f"{host}/a/{link[len(home):]}")
        first.locator("#waiting li").first.wait_for()
        first.evaluate(ready)
        second.goto(f"{host}/b/")
        second.wait_for_timeout(500)
        expect(second.locator("#signed-out").is_visible(), "an account is shared")
        second.evaluate(ready)
        names = sorted(first.evaluate("caches.keys()"))
        expect(len(names) == 2 and names[0].endswith("/a") and names[1].endswith("/b"), names)
        second.fill("#link", link)
        second.press("#link", "Enter")
        second.locator("#waiting li").first.wait_for()
        second.click("#sign-out")
        second.locator("#signed-out").wait_for()
        first.reload()
        first.locator("#waiting li").first.wait_for()
        expect(first.evaluate("Object.keys(localStorage).join()") == "account/a", first.evaluate("Object.keys(localStorage).join()"))
        # A portal's page is not kept as this page.
        Prefix.isPortal = True
        first.reload()
        first.get_by_text("Log in to the network").wait_for()
        server.shutdown()
        server.server_close()
        first.reload()
        first.locator("#signed-in").wait_for()
        shared.close()

    @step("signing out removes the registration and the key, and leaves the link to other browsers")
    def _():
        registered = kept()["id"]
        expect(not page.is_checked("#revoke"), "a link's key would be revoked")
        tab = context.new_page()
        tab.goto(home)
        tab.locator("#signed-in").wait_for()
        page.click("#sign-out")
        page.locator("#signed-out").wait_for()
        tab.locator("#signed-out").wait_for()
        expect(tab.locator("#turn-on").is_hidden(), "another tab is still signed in")
        tab.close()
        until(lambda: text("#status") == "You are signed out.", text("#status") + text("#problem"))
        expect(page.evaluate("Object.keys(localStorage).join()") == "language", page.evaluate("Object.keys(localStorage).join()"))
        expect("account" not in page.evaluate("caches.keys()"), "the worker still has the key")
        expect(page.title() == "Turnstone", page.title())
        expect(remove(registered) == 404, "it is still registered")

    ### What a browser may lack

    def elsewhere(lack, *, unanswered=None, is_silent=False, **options):
        """A browser of its own, signed in, that lacks something. Requests for addresses of a form break off, or never end. Returns its page."""
        lacking = browser.new_context(locale="en-GB", **options)
        lacking.add_init_script(f"(() => {{ {lack} }})()")
        if unanswered:
            lacking.route(unanswered, lambda route: None if is_silent else route.abort())
        opened = lacking.new_page()
        opened.set_default_timeout(60_000)
        opened.goto(link)
        opened.locator("#waiting li").first.wait_for()
        return opened

    def says(opened, selector, wanted):
        opened.locator(selector, has_text=wanted).wait_for()

    for what, lack, wanted in [
            ("permission that was denied before", "Object.defineProperty(Notification, 'permission', {get: () => 'denied'})", "blocks notifications"),
            ("a private window of Firefox", "delete Navigator.prototype.serviceWorker", "looks like a private window"),
            ("a browser without push", "delete window.PushManager", "cannot receive notifications"),
            ("a browser without notifications", "delete window.Notification", "cannot receive notifications"),
            ("an address without https", "Object.defineProperty(window, 'isSecureContext', {get: () => false})", "needs an address with https")]:
        @step(f"it is said in words, and nothing can be pressed: {what}")
        def _():
            opened = elsewhere(lack)
            says(opened, "#browser-state", wanted)
            expect(opened.locator("#turn-on").is_hidden() and opened.locator("#turn-off").is_hidden(), "there is a button")
            opened.context.close()

    for what, lack, wanted in [
            ("a question that was dismissed", "Notification.requestPermission = async () => 'default'", "not allowed yet"),
            ("a private window of Chromium", "Notification.requestPermission = async () => 'denied'", "private windows"),
            ("a push service that refuses", "Notification.requestPermission = async () => 'granted'; "
             "PushManager.prototype.subscribe = async () => { throw new DOMException('', 'NotAllowedError') }", "blocks notifications"),
            ("a push service that does not work", "Notification.requestPermission = async () => 'granted'; "
             "PushManager.prototype.subscribe = async () => { throw new DOMException('', 'InvalidStateError') }", "cannot receive notifications"),
            ("a private window of Firefox that refuses the worker", "Notification.requestPermission = async () => 'granted'; "
             "Object.defineProperty(navigator, 'userAgent', {get: () => 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'}); "
             "ServiceWorkerContainer.prototype.register = async () => { throw new DOMException('', 'SecurityError') }", "looks like a private window"),
            ("a worker that does not work", "Notification.requestPermission = async () => 'granted'; "
             "ServiceWorkerContainer.prototype.register = async () => { throw new DOMException('no room', 'UnknownError') }", "Something went wrong: no room")]:
        @step(f"it is said in words after a press: {what}")
        def _():
            opened = elsewhere(lack)
            opened.click("#turn-on")
            says(opened, "#problem", wanted)
            expect(opened.locator("#turn-on").is_visible(), "it cannot be pressed again")
            opened.context.close()

    @step("it is said in words after a press: a server without web push")
    def _():
        opened = elsewhere("Notification.requestPermission = async () => 'granted'")
        former = configure(lambda lines: [line for line in lines if not line.startswith("VAPID_SUBJECT=")])
        try:
            opened.click("#turn-on")
            says(opened, "#problem", "does not notify browsers")
        finally:
            configure(lambda _: former)
        opened.context.close()

    @step("an iPhone is led to its home screen, and its app signs in by the copied link")
    def _():
        phone = {"user_agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
                 "viewport": {"width": 390, "height": 844}}
        copied = "navigator.clipboard.writeText = async value => { window.copied = value };"
        safari = elsewhere(f"delete window.PushManager; {copied}", **phone)
        says(safari, "#browser-state", "Add to Home Screen")
        safari.click("#copy-link")
        says(safari, "#status", "Copied.")
        taken = safari.evaluate("window.copied")
        expect(taken == link, taken)
        if pictures:
            safari.locator("#browser-state").scroll_into_view_if_needed()
            safari.screenshot(path=str(pictures / "iphone-safari.png"))
        safari.context.close()
        # The installed app has a storage of its own.
        app = browser.new_context(locale="en-GB", **phone).new_page()
        app.goto(home)
        says(app, "#home-screen", "paste the link")
        if pictures:
            app.screenshot(path=str(pictures / "iphone-app.png"), full_page=True)
        app.fill("#link", taken)
        app.click("#sign-in button")
        app.locator("#waiting li").first.wait_for()
        expect(app.locator("#turn-on").is_visible() and app.locator("#copy-link").is_hidden(), app.locator("#browser-state").inner_text())
        app.context.close()

    @step("a browser that cannot copy shows what to copy")
    def _():
        opened = elsewhere("delete window.PushManager; Object.defineProperty(navigator, 'clipboard', {get: () => undefined}); "
                           "window.prompt = (words, value) => { window.prompted = value }", user_agent="Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X)")
        opened.click("#copy-link")
        opened.wait_for_function("window.prompted")
        expect(opened.evaluate("window.prompted") == link, opened.evaluate("window.prompted"))
        opened.context.close()

    ### One browser, several players

    def with_push(*, is_on=True, **options):
        """A browser of its own, signed in, with the stand-in's subscription. Returns its page."""
        fake = FAKE.replace("SUBSCRIPTION", json.dumps(json.dumps(tell({"do": "web-subscription"})["subscription"])))
        opened = elsewhere(fake, permissions=["notifications"], **options)
        if is_on:
            opened.click("#turn-on")
            says(opened, "#browser-state", "are on")
            says(opened, "#devices", "This browser")
            says(opened, "#status", "are on")  # else it is said after the next press
        return opened

    def shown(opened, selector):
        return opened.locator(selector).inner_text()

    def held_registration(opened):
        """Turns notifications on, and holds the registration. Returns what lets it go.

        Playwright's routes may miss a request of a page that a service worker has just taken over.
        """
        opened.locator("#turn-on").wait_for()
        opened.evaluate("""() => {
            const ask = fetch
            window.fetch = (address, options) => String(address).endsWith("/register")
                ? new Promise(done => { window.release = () => done(ask(address, options)) }) : ask(address, options)
        }""")
        opened.click("#turn-on")
        until(lambda: opened.evaluate("Boolean(window.release)"), lambda: f"it is not registered: {shown(opened, 'main')}")
        return lambda: opened.evaluate("window.release()")

    @step("a service worker whose files do not arrive is said in words, and tried again")
    def _():
        files = "**/icon-192.png"
        opened = with_push(is_on=False, unanswered=files)
        opened.click("#turn-on")
        says(opened, "#problem", "cannot be reached")
        opened.context.unroute(files)
        opened.click("#turn-on")
        says(opened, "#browser-state", "are on")
        opened.context.close()

    @step("a service worker whose files never end is waited for no longer than others")
    def _():
        files = "**/icon-192.png"
        opened = with_push(is_on=False, unanswered=files, is_silent=True)
        opened.click("#turn-on")
        says(opened, "#problem", "cannot be reached")
        opened.context.close()

    @step("a service worker's script that does not arrive, or is a portal's, is said in words, and tried again")
    def _():
        file = "**/worker.js"
        opened = with_push(is_on=False, unanswered=file)
        for answer in (None, dict(status=500, body=""), dict(body="<h1>Welcome to the hotel</h1>", content_type="text/html")):
            opened.context.unroute(file)
            opened.context.route(file, lambda route: route.fulfill(**answer) if answer else route.abort())
            opened.click("#turn-on")
            says(opened, "#problem", "cannot be reached")
        opened.context.unroute(file)
        opened.click("#turn-on")
        says(opened, "#browser-state", "are on")
        opened.context.close()

    @step("a page whose scripts do not arrive says so")
    def _():
        for file in ("page.js", "board.js", "phrases.js"):
            lacking = browser.new_context(locale="en-GB")
            lacking.route(f"**/{file}", lambda route: route.fulfill(status=500, body=""))
            opened = lacking.new_page()
            opened.goto(link)
            expect(not opened.locator("#incomplete").is_visible(), "it complains at once")
            opened.locator("#incomplete", has_text="Reload this page").wait_for()
            opened.context.unroute(f"**/{file}")
            opened.reload()
            opened.locator("#waiting li").first.wait_for()
            expect(opened.locator("#incomplete").count() == 0, "it still complains")
            opened.context.close()

    @step("without JavaScript the page asks for it, and not to be reloaded; each language is marked")
    def _():
        opened = browser.new_context(locale="en-GB", java_script_enabled=False).new_page()
        opened.goto(home)
        opened.locator("noscript p").wait_for()
        incomplete = opened.locator("#incomplete")
        display = incomplete.evaluate("part => getComputedStyle(part).display")
        expect(display == "none", f"it asks to be reloaded: {display}")
        marked = incomplete.locator("[lang]").evaluate_all("parts => parts.map(part => part.lang).join()")
        expect(marked == "de,fr,ja,ko,zh-Hans", f"the languages are marked as {marked}")
        opened.context.close()

    @step("a file that arrives after the kept one was shown is kept for the next start, and one that never ends is given up")
    def _():
        opened, held = elsewhere(""), []
        opened.evaluate("navigator.serviceWorker.ready.then(() => true)")
        opened.reload()
        its_worker = opened.context.service_workers[0]
        # An event that is over keeps the worker alive no longer.
        its_worker.evaluate("""() => {
            const wait = ExtendableEvent.prototype.waitUntil, ask = fetch, timeout = AbortSignal.timeout.bind(AbortSignal)
            self.failed = []
            const record = error => { failed.push(error.name); throw error }
            ExtendableEvent.prototype.waitUntil = function (promise) { try { wait.call(this, promise) } catch (error) { record(error) } }
            self.fetch = (...values) => ask(...values).catch(record)
            self.shorten = () => { AbortSignal.timeout = () => timeout(1000) }
            patience = 500
        }""")
        failed, kept_style = "failed.join()", "async () => (await caches.match(new URL('style.css', location.href).href)).text()"
        opened.context.route("**/style.css", lambda route: held.append(route))
        opened.reload()
        opened.locator("#waiting li").first.wait_for()
        with urllib.request.urlopen(f"{home}style.css", timeout=10) as fresh:
            held[0].fulfill(headers={name: value for name, value in fresh.headers.items() if name != "Content-Length"}, body="/* new */")
        until(lambda: opened.evaluate(kept_style) == "/* new */", lambda: f"it is not kept: {opened.evaluate(kept_style)[:40]}", 10)
        expect(its_worker.evaluate(failed) == "", f"the worker may end before: {its_worker.evaluate(failed)}")
        its_worker.evaluate("shorten()")
        opened.reload()
        opened.locator("#waiting li").first.wait_for()
        until(lambda: its_worker.evaluate(failed) == "TimeoutError", lambda: f"it is still waited for: {its_worker.evaluate(failed)}", 10)
        opened.context.close()

    @step("a kept page opens though the server's answers are bad, stop, or are another's")
    def _():
        opened = elsewhere("")
        opened.evaluate("navigator.serviceWorker.ready.then(() => true)")
        opened.reload()
        for kind in ("500", "portal", "cut"):
            for file in ("page.js", "games.js", "style.css"):
                def answer(route):
                    if kind == "cut":
                        return None
                    return route.fulfill(status=500 if kind == "500" else 200, body="<h1>Welcome to the hotel</h1>", content_type="text/html")
                opened.context.route(f"**/{file}", answer)
                opened.reload()
                opened.locator("#waiting li").first.wait_for()
                opened.context.unroute(f"**/{file}")
        opened.context.close()

    @step("nothing of a portal's is kept")
    def _():
        opened = browser.new_context(locale="en-GB").new_page()
        opened.context.route(re.compile("/(page|games)\\.js$"), lambda route: route.fulfill(body="<h1>Welcome to the hotel</h1>", content_type="text/html"))
        opened.goto(home)
        registered = "navigator.serviceWorker.register('worker.js').then(({installing}) => new Promise(done => installing.onstatechange = () => done(installing.state)))"
        expect(opened.evaluate(registered) == "redundant", "the worker was installed")
        opened.context.close()

    @step("a subscription that a closed tab left goes with a sign-out")
    def _():
        opened = with_push(is_on=False)
        tab = opened.context.new_page()
        tab.goto(home)
        held_registration(tab)
        opened.click("#sign-out")
        opened.locator("#signed-out").wait_for()
        tab.close()
        until(lambda: shown(opened, "#status") == "You are signed out.", lambda: shown(opened, "main"))
        expect(opened.evaluate("localStorage.getItem('fake')") is None, "it has a subscription")
        opened.context.close()

    def sign_out(opened):
        opened.click("#sign-out")
        until(lambda: shown(opened, "#status") == "You are signed out.", shown(opened, "#status"))

    look = "document.dispatchEvent(new Event('visibilitychange'))"

    @step("a test says its last entry, and nothing after a sign-out")
    def _():
        opened = with_push()
        entry = {"id": "t", "at": "2026-11-26T07:00:00.000Z", "kind": "test", "platform": "web", "device": None, "deviceName": None, "outcome": "waiting",
                 "reason": "held", "explanation": "x"}
        opened.route("**/api/notifications/test", lambda route: route.fulfill(json={"success": True, "id": "t", "devices": 1}))
        opened.route("**/api/notifications?*", lambda route: route.fulfill(json={"success": True, "notifications": [entry], "next": None, "stopped": False}))
        opened.evaluate("() => { const wait = setTimeout; window.setTimeout = (work, ms) => wait(work, ms / 20) }")
        opened.click("#test")
        until(lambda: shown(opened, "#status") not in ("", "Waiting for the server…"), "it says nothing")
        last = shown(opened, "#status")
        opened.click("#test")
        says(opened, "#status", "Waiting for the server")
        sign_out(opened)
        opened.wait_for_timeout(4000)  # the test looks for 1.5 s
        expect("Waits for the end of your mute" in last, last)
        expect(shown(opened, "#status") == "You are signed out." and shown(opened, "#problem") == "", shown(opened, "main"))
        opened.context.close()

    @step("an answer that was overtaken leaves the complaint of the later one")
    def _():
        opened, held = elsewhere(""), []
        opened.route("**/diagnostics/*", lambda route: held.append(route))
        for count in (1, 2):
            opened.evaluate(look)
            until(lambda: len(held) == count, "it does not look")
        held[1].abort()
        says(opened, "#problem", "cannot be reached")
        held[0].continue_()
        opened.wait_for_timeout(1000)  # what it shows, it shows at once
        expect("cannot be reached" in shown(opened, "#problem"), "the complaint is gone")
        opened.context.close()

    @step("what a former player's sign-out left is off for the next one, and is removed")
    def _():
        for next_one in (json.dumps({"key": new_key("77"), "player": "77"}), None):
            opened = with_push()
            opened.evaluate("next => next ? localStorage.setItem('account', next) : localStorage.removeItem('account')", next_one)
            opened.reload()
            until(lambda: opened.evaluate("localStorage.getItem('fake')") is None, "the subscription is still there", 10)
            until(lambda: "account" not in opened.evaluate("caches.keys()"), "the worker has the key", 10)
            if next_one:
                says(opened, "#browser-state", "are off")
            opened.context.close()

    @step("a slow sign-out leaves the next sign-in's notifications alone, also another tab's")
    def _():
        for next_player, is_elsewhere in (("77", False), (player, False), ("77", True)):
            opened = with_push()
            next_key = new_key(next_player)
            opened.evaluate("() => { window.removal = new Promise(done => { window.remove = done }) }")
            opened.click("#sign-out")
            opened.locator("#signed-out").wait_for()
            tab = opened.context.new_page() if is_elsewhere else opened
            if is_elsewhere:
                tab.goto(home)
            tab.evaluate("hash => { location.hash = hash }", f"#key={next_key}&player={next_player}")
            tab.locator("#turn-on").click()
            tab.wait_for_timeout(1000)  # what does not wait for the sign-out, is done at once
            opened.evaluate("window.remove()")
            says(tab, "#status", "are on")
            tab.wait_for_timeout(2000)  # as above
            tab.reload()
            tab.locator("#devices li").first.wait_for()
            expect("are on" in shown(tab, "#browser-state"), f"player {next_player}: {shown(tab, '#browser-state')}")
            expect(kept(tab)["id"] in [one["id"] for one in devices(next_key)], f"player {next_player}: the server does not know it")
            opened.context.close()

    @step("a removal leaves another player's registration")
    def _():
        opened = with_push()
        before = kept(opened)
        opened.evaluate("""async account => {
            const [{turnOff}, {Client}] = await Promise.all([import("./browser.js"), import("./turnstone.js")])
            await turnOff(new Client(account))
        }""", {"key": new_key("77"), "player": "77"})
        expect("account" in opened.evaluate("caches.keys()") and kept(opened) == before, "it is forgotten")
        expect(opened.evaluate("localStorage.getItem('fake')") is not None, "the subscription is lost")
        opened.context.close()

    @step("a browser that never ends a subscription keeps nothing else waiting")
    def _():
        opened = with_push()
        opened.evaluate("() => { window.removal = new Promise(() => {}) }")
        opened.click("#turn-off")
        says(opened, "#browser-state", "are off")
        opened.evaluate("() => { window.removal = null }")
        opened.click("#turn-on")
        says(opened, "#status", "are on")
        opened.context.close()

    @step("what a page could not remove when it was opened, it removes the next time, and nothing breaks")
    def _():
        opened, errors = with_push(), []
        opened.on("pageerror", lambda error: errors.append(str(error)))
        opened.add_init_script("if (sessionStorage.broken) ServiceWorkerContainer.prototype.getRegistration = async () => { throw new Error('broken') }")
        opened.evaluate("next => { localStorage.setItem('account', next); sessionStorage.broken = true }", json.dumps({"key": new_key("77"), "player": "77"}))
        opened.reload()
        opened.locator("#devices li").first.wait_for()
        opened.wait_for_timeout(1000)  # what breaks, breaks at once
        expect(not errors, errors)
        opened.evaluate("sessionStorage.clear()")
        opened.reload()
        until(lambda: opened.evaluate("localStorage.getItem('fake')") is None, "the subscription is still there", 10)
        opened.context.close()

    @step("another tab shows when notifications are turned on and off")
    def _():
        opened = with_push(is_on=False)
        tab = opened.context.new_page()
        tab.goto(home)
        tab.locator("#turn-on").wait_for()
        tab.locator("#devices li").first.wait_for()
        opened.click("#turn-on")
        says(tab, "#browser-state", "are on")
        says(tab, "#devices", "This browser")
        opened.click("#turn-off")
        says(tab, "#browser-state", "are off")
        until(lambda: "This browser" not in shown(tab, "#devices"), shown(tab, "#devices"))
        opened.context.close()

    def untried():
        """A browser of its own whose page could not try the link, but can now. Returns the page."""
        opened = browser.new_context(locale="en-GB").new_page()
        opened.route("**/api-keys", lambda route: route.abort())
        opened.goto(link)
        says(opened, "#problem", "cannot be reached")
        opened.unroute("**/api-keys")
        return opened

    @step("a link that could not be tried is offered no more once one was")
    def _():
        opened = untried()
        expect(key in opened.input_value("#link"), "it is not offered")
        opened.evaluate("hash => { location.hash = hash }", link[len(home):])
        opened.locator("#waiting li").first.wait_for()
        sign_out(opened)
        expect(opened.input_value("#link") == "", "the key is still there")
        opened.context.close()

    @step("nothing of the former player is shown to the next one")
    def _():
        opened, held = with_push(), []
        opened.locator("#history li").first.wait_for()
        opened.route(re.compile("/diagnostics/|/api/devices|/api/notifications"), lambda route: held.append(route))
        sign_out(opened)
        opened.evaluate("hash => { location.hash = hash }", f"#key={new_key('77')}&player=77")
        says(opened, "#who", "77")
        left = opened.locator("#waiting li, #others li, #devices li, #history li").all_inner_texts()
        title = opened.title()
        for route in held:
            route.abort()
        expect(not left and title == "Turnstone", left)
        opened.context.close()

    @step("a sign-out's answer leaves what was said since, and adds what failed")
    def _():
        opened, held = elsewhere(""), []
        opened.route("**/api-keys/*", lambda route: held.append(route))
        opened.check("#revoke")
        opened.click("#sign-out")
        until(lambda: held, "the key is not revoked")
        opened.evaluate("location.hash = 'key=abc&player=1'")
        says(opened, "#problem", "incomplete")
        held[0].abort()
        says(opened, "#problem", "could not be told")
        expect("incomplete" in shown(opened, "#problem"), shown(opened, "#problem"))
        opened.context.close()

    @step("at an address without https, a sign-out says what the server was not told")
    def _():
        opened = with_push()
        opened.evaluate("Object.defineProperty(window, 'isSecureContext', {get: () => false})")
        opened.route("**/register/*", lambda route: route.fulfill(status=503, json={"error": "busy"}))
        opened.check("#revoke")
        opened.click("#sign-out")
        says(opened, "#problem", "could not be told")
        expect("busy" in shown(opened, "#problem"), shown(opened, "#problem"))
        opened.context.close()

    @step("signing out while notifications are turned on is no problem")
    def _():
        opened = with_push(is_on=False)
        release = held_registration(opened)
        opened.click("#sign-out")
        opened.locator("#signed-out").wait_for()
        release()
        until(lambda: shown(opened, "#status") == "You are signed out.", shown(opened, "#status"))
        opened.wait_for_timeout(1000)  # what it says, it says at once
        expect(shown(opened, "#problem") == "" and shown(opened, "#status") == "You are signed out.", shown(opened, "main"))
        opened.context.close()

    @step("a mute lasts as long as it says, whatever the browser's clock shows")
    def _():
        stored = lambda: opened.evaluate("""async ([home, key]) =>
            (await (await fetch(`${home}api/preferences`, {headers: {"X-API-Key": key}})).json()).preferences.mutedUntil""", [home, key])
        for hours in (-5, 5):
            opened = elsewhere("""const Real = Date, ahead = HOURS * 3600_000
                window.Date = class extends Real {
                    constructor(...values) { values.length ? super(...values) : super(Real.now() + ahead) }
                    static now() { return Real.now() + ahead }
                }""".replace("HOURS", str(hours)), timezone_id="Asia/Tokyo")
            opened.click("#mute-hour")
            says(opened, "#mute-state", "Muted until")
            left = datetime.datetime.fromisoformat(stored()).timestamp() - time.time()
            expect(3500 < left < 3700, f"{left} s are left of an hour")
            expect(opened.locator("#unmute").is_visible(), "it cannot be ended")
            opened.click("#mute-morning")
            tokyo = datetime.datetime.now(datetime.timezone(datetime.timedelta(hours=9)))
            morning = tokyo.replace(hour=7, minute=0, second=0, microsecond=0)
            morning += datetime.timedelta(days=1 if morning <= tokyo else 0)
            until(lambda: datetime.datetime.fromisoformat(stored()) == morning, lambda: f"{stored()} instead of {morning}")
            opened.click("#unmute")
            until(lambda: shown(opened, "#mute-state") == "", shown(opened, "#problem"))
            opened.context.close()

    @step("it says that it waits until the last answer is there")
    def _():
        opened, held = elsewhere(""), []
        opened.locator("#history li").first.wait_for()
        until(lambda: shown(opened, "#status") == "", shown(opened, "#status"))
        opened.route("**/api/preferences", lambda route: held.append(route) if route.request.method == "PUT" else route.continue_())
        opened.click("#mute-hour")
        until(lambda: held, "nothing is saved")
        with opened.expect_response("**/api/devices"):
            opened.evaluate("dispatchEvent(new StorageEvent('storage'))")
        opened.wait_for_timeout(2000)  # the other answers come at once
        said_last = shown(opened, "#status")
        held[0].abort()
        expect("Waiting for the server" in said_last, "it does not say so any more")
        opened.context.close()

    ### Signup

    @step("a link that could not be tried is offered to try it again")
    def _():
        other = untried()
        other.click("#sign-in button")
        other.locator("#waiting li").first.wait_for()
        other.context.close()

    @step("where signup is off, there is only the link")
    def _():
        page.wait_for_timeout(500)
        expect(page.locator("#signup *").count() == 0, text("#signup"))

    configure(lambda lines: [*lines, "SIGNUP=ogs-profile"])

    @step("a signup leads from a name to a code")
    def _():
        page.goto(home)
        page.locator("#signup-name").wait_for()
        seen("signup")
        page.fill("#signup-name", "You")
        page.select_option("#language", "de")
        until(lambda: "Dein Name" in text("#signup"), text("#signup"))
        page.select_option("#language", "en")
        until(lambda: "Your name" in text("#signup"), text("#signup"))
        expect(page.input_value("#signup-name") == "You", "what was typed is lost")
        page.press("#signup-name", "Enter")
        page.locator("#signup-code").wait_for()
        expect(page.evaluate("document.activeElement.tagName") == "H3", "the focus is lost")
        expect("“About” of You's profile" in text("#signup"), text("#signup"))
        expect(page.locator("#signup a").get_attribute("href") == environment["OGS_BASE_URL"], "not Online-Go.com's address")
        seen("signup-code")
        code = text("#signup-code")
        page.select_option("#language", "de")
        until(lambda: "im Profil von You" in text("#signup"), text("#signup"))
        page.select_option("#language", "en")
        until(lambda: "profile" in text("#signup"), text("#signup"))
        expect(text("#signup-code") == code, "the code is lost")

    @step("a signup is nobody else's after a sign-in and a sign-out")
    def _():
        opened = browser.new_context(locale="en-GB").new_page()
        opened.goto(home)
        opened.fill("#signup-name", "You")
        opened.press("#signup-name", "Enter")
        opened.locator("#signup-code").wait_for()
        opened.fill("#link", link)
        opened.click("#sign-in button")
        opened.locator("#waiting li").first.wait_for()
        opened.route("**/signup", lambda route: route.abort())
        sign_out(opened)
        expect(opened.locator("#signup *").count() == 0, shown(opened, "#signup"))
        opened.unroute("**/signup")
        opened.reload()
        opened.locator("#signup-name").wait_for()
        expect(opened.input_value("#signup-name") == "" and opened.locator("#signup-code").count() == 0, shown(opened, "#signup"))
        opened.context.close()

    def signup_under_way(opened, path, work):
        """Does what asks for an address of the signup. Returns the request, which is held."""
        held = []
        opened.route(path, lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
        work()
        until(lambda: held, f"{path} is not asked for")
        return held[0]

    begun = {"success": True, "code": "turnstone-0a0a", "token": "t", "username": "You"}

    def with_signup():
        """A browser of its own, not signed in, that shows the signup. Returns its page, and what the browser asks."""
        opened, questions = browser.new_context(locale="en-GB", service_workers="block").new_page(), []
        opened.on("dialog", lambda dialog: (questions.append(dialog.message), dialog.accept()))
        opened.goto(home)
        opened.fill("#signup-name", "You")
        return opened, questions

    @step("another language leaves a signup that waits for its code")
    def _():
        opened, _ = with_signup()
        asked_for = signup_under_way(opened, "**/signup", lambda: opened.press("#signup-name", "Enter"))
        opened.select_option("#language", "de")
        says(opened, "#signup", "Dein Name")
        asked_for.fulfill(json=begun)
        says(opened, "#signup-code", begun["code"])
        opened.context.close()

    @step("a confirmation that arrives after somebody has signed in, or in and out, changes nothing")
    def _():
        for is_left in (False, True):
            opened, questions = with_signup()
            signup_under_way(opened, "**/signup", lambda: opened.press("#signup-name", "Enter")).fulfill(json=begun)
            asked_for = signup_under_way(opened, "**/signup/confirm", lambda: opened.get_by_role("button", name="The code is in my profile").click())
            opened.fill("#link", link)
            opened.click("#sign-in button")
            opened.locator("#waiting li").first.wait_for()
            if is_left:
                sign_out(opened)
            asked_for.fulfill(json={"success": True, "api_key": new_key("77"), "user_id": "77"})
            opened.wait_for_timeout(2000)  # what it does, it does at once
            who = json.loads(opened.evaluate("localStorage.getItem('account') ?? '{}'")).get("player")
            expect(not questions and who == (None if is_left else player), f"signed in as {who}, asked {questions}")
            opened.context.close()

    @step("a code that is not in the profile yet is said in words")
    def _():
        page.get_by_role("button", name="The code is in my profile").click()
        until(lambda: "not in the profile yet" in text("#problem"), text("#problem"))
        accessible("not yet")

    @step("each other refusal of a signup is said in words")
    def _():
        for status, wanted in [(401, "has expired"), (404, "knows no player"), (409, "Too many keys"), (429, "Too many"), (503, "busy"), (0, "cannot be reached")]:
            page.route("**/signup/confirm", lambda route: route.fulfill(status=status, json={"error": "x"}) if status else route.abort())
            page.get_by_role("button", name="The code is in my profile").click()
            until(lambda: wanted in text("#problem"), text("#problem"))
            page.unroute("**/signup/confirm")

    @step("the code in the profile signs in")
    def _():
        tell({"do": "player", "player": int(player), "name": "You", "about": f"I play Go. {text('#signup-code')}"})
        page.get_by_role("button", name="The code is in my profile").click()
        page.locator("#waiting li").first.wait_for()
        expect(page.url == home and text("#problem") == "", page.url + text("#problem"))
        expect(key not in page.evaluate("localStorage.account"), "it is the link's key")

    @step("signing out revokes the key of a signup, which no other browser has")
    def _():
        own = json.loads(page.evaluate("localStorage.account"))["key"]
        expect(page.is_checked("#revoke"), "it would stay valid")
        page.click("#sign-out")
        until(lambda: text("#status") == "You are signed out.", text("#status") + text("#problem"))
        expect(status_of(own) == 401 and status_of(key) == 200, (status_of(own), status_of(key)))

    ### The other pages

    @step("the web client's examples run as they are shown")
    def _():
        page.goto(f"{home}reference/client.html")
        until(lambda: text("#version") == "1.4.0", text("#version"))
        page.fill("#link", link)
        wanted = ["A quiet game", "stand-in|browser|Chrome|web|\\[\\]", "accepted", "mutedUntil\": \"20", "mutedUntil\": null", "404: "]
        for number, words in enumerate(wanted):
            output = page.locator("#examples output").nth(number)
            page.locator("#examples button").nth(number).click()
            until(lambda: output.inner_text() not in ("", "…"), "no answer")
            expect(re.search(words, output.inner_text()), output.inner_text())
        seen("client")

    @step("the reference page is accessible, light and dark")
    def _():
        page.goto(f"{home}reference/")
        page.locator("details").first.wait_for()
        page.locator("summary").first.click()
        seen("reference")

    @step("the reference pages ask for nothing that is not there")
    def _():
        for name in ("", "client.html"):
            # A browser remembers which icons there are not.
            fresh, errors = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"]), []
            opened = fresh.new_page()
            opened.on("console", lambda message: errors.append(f"{message.location['url']}: {message.text}") if message.type == "error" else None)
            opened.goto(f"{home}reference/{name}")
            opened.wait_for_timeout(2000)  # the icon is asked for last
            fresh.close()
            expect(not errors, errors)

    @step("a link's key is revoked if the player says so")
    def _():
        page.goto(link)
        page.locator("#turn-on").wait_for()
        page.click("#turn-on")
        until(lambda: "are on" in text("#browser-state"), text("#problem") or text("#browser-state"))
        # Also if the device could not be removed.
        page.route("**/register/*", lambda route: route.fulfill(status=503, json={"error": "busy"}))
        page.check("#revoke")
        page.click("#sign-out")
        until(lambda: text("#status") == "You are signed out.", text("#status") + text("#problem"))
        page.unroute("**/register/*")
        expect("could not be told" in text("#problem"), text("#problem"))
        expect(status_of(key) == 401, status_of(key))

    @step("a browser that keeps nothing is told so in words")
    def _():
        other = browser.new_context(locale="de-DE")
        other.add_init_script("""Object.defineProperty(window, "localStorage", {get() { throw new DOMException("no", "SecurityError") }})""")
        strict = other.new_page()
        strict.goto(f"{home}#key={new_key(player)}&player={player}")
        strict.locator("#signed-out").wait_for()
        expect("Erlaube Cookies" in strict.locator("#problem").inner_text(), strict.locator("#problem").inner_text())
        strict.select_option("#language", "fr")
        strict.get_by_text("Ouvrez le lien de connexion").wait_for()
        other.close()

    @step("nothing foreign was asked, and nothing broke a policy")
    def _():
        foreign = [address for address in asked if not address.startswith((home, "about:", "data:"))]
        expect(not foreign, foreign)
        broken = [line for line in said if not re.search(r"Failed to load resource|status of (4|5)\d\d|ERR_", line)]
        expect(not broken, broken)

    browser.close()
print("ok everything was tried")
