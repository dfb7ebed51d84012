"""One history: steps, done with the real programs, and checked against the model.

A step is a dictionary with `do`, so that a history can be printed, kept in a file and done again.
"""

import calendar
import itertools
import json
import os
import shutil
import tempfile
import time

import activity_rules
import rules
from activities import NAME_OF, POOLS, TOKENS, TYPE, activity_of
from activity_rules import ActivityAnswer
from ogs import OPPONENT
from programs import Programs, device_id
from rules import Registered, Report, Settled, TurnUntold, Violation
from world import DAY, GAMES, PHONE_OF, PHONES, PLAYERS, START, USERS, World, Message, local_minute

KILLED = -9
TICK = 1000
# In memory if possible: histories end programs, not the machine, and `fsync` takes most of a request's time.
PLACE = next((path for path in ("/dev/shm",) if "TMPDIR" not in os.environ and os.access(path, os.W_OK)), None)


class Stage:
    """What all histories of one process share: the stand-ins."""

    def __init__(self, binaries, gateway, site):
        self.binaries, self.gateway, self.site = binaries, gateway, site


class History:
    def __init__(self, stage, only=None, spawn=False, start=START, zone="Etc/UTC"):
        self.stage, self.only, self.spawn = stage, only, spawn
        self.folder = tempfile.mkdtemp(prefix="turnstone-model.", dir=PLACE)
        self.gateway, self.site = stage.gateway, stage.site
        self.start = start
        self.world = World(start, zone)
        self.programs = Programs(self.folder, stage.binaries, self.gateway, self.site, spawn)
        self.gateway.begin(start)
        for game, answer in self.site.begin(start, GAMES).items():
            self.world.see_game(game, answer, False)
        self.programs.now = start
        self.programs.run("health", {"method": "GET", "path": "/health"})
        self.ahead = 0  # how far the clock is ahead of the right one
        self.asked = {}  # message: its request, and the first answer to it
        self.paused, self.agreed = set(), set()
        self.looks = {}
        self.copies = {}  # of a damaged file, its name and bytes: the bytes that it had before, if there is a copy, and its message
        self.killed_calls = False  # whether a call to a Live Activity was killed
        self.seen = 0
        self.names = self.calls = 0
        self.steps = []
        self.lines = []

    def end(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    ### Time and talk

    def say(self, text):
        self.lines.append(text)

    def fail(self, violation):
        """Raises a violation, unless another kind is asked for."""
        if self.only is None or violation.name in self.only:
            raise violation
        self.say(f"    (passed over: {violation.name}: {violation})")

    def advance(self, milliseconds):
        self.world.now += milliseconds
        self.programs.now = self.world.now
        # APNs and Online-Go.com have clocks of their own, which are right.
        self.gateway.set_clock(self.world.now - self.ahead)
        self.site.tell(do="clock", now=self.world.now - self.ahead)
        self.world.observe_wishes()

    def do_clock(self, step):
        """Sets the programs' clock so many seconds ahead of the right one, behind it where they are negative."""
        now = self.world.now - self.ahead + step["ahead"] * 1000
        self.ahead = step["ahead"] * 1000
        self.world.set_clock(now)
        self.programs.now = now

    def do_shards(self, step):
        """Gives each push service so many queues from now on."""
        self.programs.shards = step["count"]
        self.world.shards.add(step["count"])

    def do(self, step):
        self.steps.append(step)
        self.say(f"{self.clock()} {json.dumps(step)}")
        self.world.group += 1
        getattr(self, "do_" + step["do"].replace("-", "_"))(step)
        if self.spawn and step["do"] != "wait":
            self.await_drainer()
            self.see_pushes([self.world])
        for fault in self.gateway.faults:
            self.fail(Settled(f"the gateway was sent something malformed: {fault}"))
        self.advance(TICK)

    def clock(self):
        seconds = (self.world.now - self.start) // 1000
        sign, seconds = "-" if seconds < 0 else "+", abs(seconds)
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"

    ### Requests

    def event(self, step):
        """The program and the event of a request step."""
        user, phone = step.get("user"), step.get("phone")
        token = PHONES.get(phone)
        match step["do"]:
            case "register":
                return "register", self.programs.by_key(user, "POST", "/register", {"user_id": user, "device_token": token})
            case "claim" if step["by"] == "devices":
                return "devices-register", self.programs.by_token(
                    user, "POST", "/api/devices/register", {"deviceToken": token, "platform": "ios"})
            case "claim":
                body = {"token": token, "tokenType": "device", "platform": "ios"}
                if step.get("previous"):
                    body["previousToken"] = PHONES[step["previous"]]
                return "push-register", self.programs.by_token(user, "POST", "/api/push/register", body)
            case "unregister" if step["by"] == "key":
                return "register", self.programs.by_key(user, "DELETE", f"/register/{token}")
            case "unregister" if step["by"] == "devices":
                return "devices-unregister", self.programs.by_token(user, "DELETE", f"/api/devices/{token}")
            case "unregister":
                return "push-invalidate", self.programs.by_token(user, "DELETE", "/api/push/invalidate", {"token": token})
            case "preferences":
                body = {"kinds": {kind: False for kind in step.get("off", ())}}
                if step.get("mute"):
                    until = self.world.now // 1000 + step["mute"] * 60
                    body["mutedUntil"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(until))
                if step.get("quiet"):
                    minute = local_minute(self.world.now, self.world.zone)
                    start, end = (minute - 1) % 1440, (minute + step["quiet"]) % 1440
                    body["quietHours"] = {"from": f"{start // 60:02}:{start % 60:02}", "to": f"{end // 60:02}:{end % 60:02}",
                                          "timeZone": self.world.zone}
                return "preferences", self.programs.by_token(user, "PUT", "/api/preferences", body)
            case "notify":
                name = step["name"]
                body = {"users": step["users"], "data": {"m": name}, "idempotency_key": name}
                if step.get("silent"):
                    body["content_available"] = True
                else:
                    body["title"] = f"Message {name}"
                    if step.get("urgent"):
                        body["interruption_level"] = "time-sensitive"
                for member, key in (("kind", "kind"), ("collapse", "collapse_id"), ("expires", "expires_in")):
                    if step.get(member):
                        body[key] = step[member]
                if step.get("badge"):
                    body["badge"] = f"+{step['badge']}"
                if step.get("after"):
                    body["send_after"] = self.world.now // 1000 + step["after"]
                return "notify", self.programs.by_server("POST", "/api/notify", body)
            case "request":
                return "events", self.programs.by_server("POST", "/api/events", {
                    "event": "approval_request", "users": step["users"], "idempotency_key": step["name"],
                    "values": {"requestId": f"r-{step['name']}", "toolName": "Bash", "action": f"Run {step['name']}"}})
            case "clear":
                return "events", self.programs.by_server("POST", "/api/events", {
                    "event": "approval_cleared", "users": step["users"], "idempotency_key": step["name"],
                    "values": {"requestId": f"r-{step['request']}"}})
            case "cancel":
                return "notify", self.programs.by_server("DELETE", f"/api/notify/{self.world.messages[step['message']].id}")
            case "listen":
                name = step["token"]
                body = {"token": TOKENS[name], "tokenType": "live_activity", "platform": "ios", "activityId": activity_of(name),
                        "sessionId": POOLS[name.split(".")[0]]}
                if name.startswith("P"):
                    body |= {"tokenType": "live_activity_start", "attributesType": TYPE}
                if step.get("previous"):
                    body["previousToken"] = TOKENS[step["previous"]]
                return "push-register", self.programs.by_token(
                    user, "POST", "/api/push/register", {name: value for name, value in body.items() if value is not None})
            case "unlisten":
                return "push-invalidate", self.programs.by_token(user, "DELETE", "/api/push/invalidate", {"token": TOKENS[step["token"]]})
            case "activity":
                body = {"event": step["event"], "activityId": step.get("activity"), "sessionId": step.get("session"), "userId": user,
                        "staleDate": step["until"], "contentState": {"n": step["state"]} if step["state"] else None,
                        "timestamp": step["moment"] / 1000 if step.get("at") is not None else None,
                        "alert": {"title": "Alert", "body": f"Alert {step['number']}"} if step.get("alert") else None}
                if step["event"] == "start":
                    body |= {"attributesType": TYPE, "attributes": {"n": step["state"]}}
                return "live-activity", self.programs.by_server(
                    "POST", "/api/push/live-activity", {name: value for name, value in body.items() if value is not None})
            case "badge":
                return "badge", self.programs.by_token(user, "PUT", "/api/badge", {"badge": step["badge"]})
        raise KeyError(step["do"])

    def message(self, step, answer):
        name, now = step["name"], self.world.now
        due = (now // 1000 + step["after"]) * 1000 if step.get("after") else None
        kind, event, request = step.get("kind") or "message", None, None
        if step["do"] == "request":
            kind, event, request = "approval_request", "approval_request", f"r-{name}"
        elif step["do"] == "clear":
            kind, event, request = "approval_cleared", "approval_cleared", f"r-{step['request']}"
        life = 3600 if event == "approval_request" else step.get("expires") or 86400
        return Message(name=name, id=answer["id"], users=tuple(step["users"]), kind=kind, group=0, accepted=now, due=due,
                       expires=(due or now) + life * 1000, collapse_id=step.get("collapse"),
                       urgent=bool(step.get("urgent")) or event == "approval_request",
                       silent=bool(step.get("silent")) or event == "approval_cleared", event=event, request=request,
                       devices=answer["devices"], badge=step.get("badge", 0), has_own_life=life != 86400,
                       begun=(due or now) - max(self.ahead, 0))

    def apply(self, world, step, result, again=False):
        """The statuses that are right for a step, after its effects on the model."""
        match step["do"]:
            case "register":
                return world.register(step)
            case "claim":
                return world.claim(step)
            case "unregister":
                return world.unregister(step)
            case "preferences":
                return world.set_preferences(step)
            case "notify" | "request" | "clear":
                world.accept(self.message(step, result.body or {"id": "", "devices": 0}))
                return {202}
            case "cancel":
                if result.status == 200:
                    world.messages[step["message"]].cancelled = "wholly"
                elif result.status == 202:
                    world.messages[step["message"]].cancelled = world.messages[step["message"]].cancelled or "perhaps"
                return {200, 202, 409}
            case "listen":
                return world.activities.listen(step, result.status, world.now, world.group)
            case "unlisten":
                return world.activities.unlisten(step, result.status, world.group, again)
            case "activity":
                return world.activities.call(step, result.status, (result.body or {}).get("state"), world.now, world.group, again)
            case "badge":
                return {200}

    def request(self, step, again=False):
        """Does one request, and what the model expects of it. `again`: a killed program may have done it."""
        program, event = self.event(step)
        result = self.programs.run(program, event)
        self.say(f"    {result.program}: {result.status} {json.dumps(result.body)}")
        if step["do"] in ("notify", "request", "clear"):
            self.asked[step["name"]] = (program, event, result.body)
        before = self.world.copy() if self.spawn else self.world
        right = self.apply(self.world, step, result, again)
        if self.world.activities.complaint:
            self.fail(ActivityAnswer(self.world.activities.complaint))
        if result.exit != 0 or result.status not in right:
            self.fail(Settled(f"{result.program}: exit {result.exit}, status {result.status}, not of {sorted(right)}; {result.log[-300:]}"))
        if self.spawn:
            self.await_drainer()
            self.see_pushes([self.world, before])

    def prepare(self, step):
        """Gives a step its name and its moments."""
        if step["do"] in ("notify", "request", "clear"):
            self.names += 1
            step.setdefault("name", f"m{self.names}")
        elif step["do"] == "activity":
            self.calls += 1
            step.setdefault("number", self.calls)
            step["state"] = None if step["event"] == "end" and not step.get("content") else step["number"]
            step["moment"] = self.world.now + round((step.get("at") or 0) * 1000)
            step["until"] = None if step.get("stale") is None else self.world.now // 1000 + step["stale"]

    def do_activity(self, step):
        self.prepare(step)
        self.lines[-1] = f"{self.clock()} {json.dumps(step)}"
        self.request(step)

    def do_listen(self, step):
        if not self.world.activities.is_twin(step):
            self.request(step)

    do_unlisten = request

    do_register = do_claim = do_unregister = do_preferences = do_badge = request

    def do_cancel(self, step):
        if step["message"] in self.world.messages:
            self.request(step)

    def named(self, step):
        self.prepare(step)
        self.lines[-1] = f"{self.clock()} {json.dumps(step)}"
        self.request(step)

    do_notify = do_request = named

    def do_flood(self, step):
        """So many messages to the same users that `deliver` moves some of them behind others'."""
        for _ in range(step["count"]):
            message = {"do": "notify", "users": step["users"], "urgent": step.get("urgent")}
            self.prepare(message)
            self.request(message)

    def do_again(self, step):
        """Repeats a request with its idempotency key: it is answered as the first one was, and sends nothing."""
        message = self.world.messages.get(step["message"])
        if message is None or step["message"] not in self.asked or self.world.now - message.accepted >= DAY - TICK:
            return
        program, event, first = self.asked[step["message"]]
        result = self.programs.run(program, event)
        self.say(f"    {program} again: {result.status} {json.dumps(result.body)}")
        if result.status != 202 or result.body != first:
            self.fail(Report(f"{message.name}, asked for again at {self.clock()}: {result.status} {result.body}, first {first}"))
        if self.spawn:
            self.await_drainer()
            self.see_pushes([self.world])

    def do_clear(self, step):
        request = f"r-{step['request']}"
        if not any(message.event == "approval_cleared" and message.request == request for message in self.world.messages.values()):
            self.named(step)

    ### Programs that are ended

    def do_kill(self, step):
        """A request whose program is ended by SIGKILL after so many microseconds: it was done, or not."""
        inner = step["step"]
        self.doubt_old_activities([inner])
        if inner["do"] == "listen" and self.world.activities.is_twin(inner):
            return
        self.prepare(inner)
        self.lines[-1] = f"{self.clock()} {json.dumps(step)}"
        process = self.programs.start(*self.event(inner))
        time.sleep(step["us"] / 1e6)
        process.kill()
        result = self.programs.finish(process)
        self.say(f"    {result.program}: exit {result.exit}, {result.status}")
        if result.exit != KILLED:
            step["ended"] = "done"
            self.world_after([inner], [result])
        elif inner["do"] in ("notify", "request", "clear", "cancel", "listen", "unlisten", "activity") or inner.get("previous"):
            # The caller asks again, by the same key, or as no listing tells which token a device has.
            step["ended"] = "done"
            self.killed_calls = self.killed_calls or inner["do"] == "activity"
            return self.request(inner, again=True)
        else:
            self.world_after([inner], [result], ended=step)

    def doubt_old_activities(self, steps):
        for step in steps:
            if step["do"] == "check-turns":
                self.world.activities.doubt_old(None, self.world.now)
            elif step["do"] in ("register", "claim", "listen"):
                self.world.activities.doubt_old(step["user"], self.world.now)

    def world_after(self, steps, results, ended=None):
        """Takes the order of concurrent requests that explains the answers and the devices. Answers with all worlds in between.

        `ended` is the step of a program that was ended: it was done, or not, and the step keeps which.
        """
        listed = self.listing()
        self.world.learn_names(listed)
        refused = {PHONE_OF.get(push.token) for push in self.gateway.pushes[self.seen:] if push.answer == "410"}
        wishes = self.wishes() if any(step["do"] == "preferences" for step in steps) else None
        candidates, first = [], None
        for order in itertools.permutations(range(len(steps))):
            world = self.world.copy()
            passed, fits = [world.copy()], True
            for index in order:
                right = self.apply(world, steps[index], results[index])
                fits = fits and (ended is not None or results[index].status in right and not world.activities.complaint)
                passed.append(world.copy())
            candidates.append((world, passed, fits, "done"))
        if ended is not None:
            candidates.append((self.world.copy(), [self.world.copy()], True, "not done"))
            if steps[0]["do"] == "claim":
                others = [user for user in self.world.holders(steps[0]["phone"]) if user != steps[0]["user"]]
                for count in range(1, len(others) + 1):
                    for losers in itertools.combinations(others, count):
                        world = self.world.copy()
                        world.claim_partly(steps[0], losers)
                        candidates.append((world, [world], True, "partly"))
        # The answers say for how many devices each message is.
        named = [step.get("name") for step in steps]
        candidates.sort(key=lambda candidate: candidate[0].misses(named))

        def explains(world, fits):
            world.learn_names(listed)
            gone = {device.name for user in USERS for device in world.devices[user] if device.phone in refused}
            return fits and is_explained(listed, world.listing(), gone) and (wishes is None or self.are_wishes(world, wishes))

        for world, passed, fits, how in candidates:
            if explains(world, fits):
                self.world = world
                if len(steps) > 1:
                    others = [other for other, _, fits, _ in candidates if other.misses(named) == world.misses(named) and explains(other, fits)]
                    for name in named:
                        world.excuse_open(name, others)
                    world.activities.doubt_open([other.activities for other in others])
                if ended is not None:
                    ended["ended"] = how
                for step in steps if len(steps) > 1 else ():
                    if step["do"] == "claim":
                        world.excuse_claimed(step["phone"], [other.get("name") for other in steps])
                return [state for _, between, good, _ in candidates if good for state in between]
        statuses = [(step["do"], result.status) for step, result in zip(steps, results)]
        self.fail(Registered(f"no order explains {statuses} and {listed}; the model: {[c[0].listing() for c in candidates]}"))
        self.world = candidates[0][0]
        return [self.world]

    def listing(self):
        names = {device_id(token): phone for phone, token in PHONES.items()}
        listed = {}
        for user in USERS:
            result = self.programs.run("devices-list", self.programs.by_token(user, "GET", "/api/devices"))
            if result.status != 200:
                self.fail(Settled(f"devices-list: {result.status} {result.body} {result.log[-300:]}"))
            listed[user] = {names.get(device["id"], "another") for device in result.body["data"]}
        return listed

    def wishes(self):
        return {user: self.programs.run("preferences", self.programs.by_token(user, "GET", "/api/preferences")).body["preferences"]
                for user in USERS}

    def are_wishes(self, world, wishes):
        return all(
            {kind for kind, wanted in wishes[user].get("kinds", {}).items() if not wanted} == set(world.preferences[user].off)
            and quiet_in(wishes[user]) == world.preferences[user].quiet
            and muted_in(wishes[user]) == world.preferences[user].muted_until // 1000
            for user in USERS)

    ### Several at once

    def do_together(self, step):
        """Several programs at once. What they did must be explained by some order of them."""
        inner = step["steps"]
        self.doubt_old_activities(inner)
        for one in inner:
            self.prepare(one)
        self.lines[-1] = f"{self.clock()} {json.dumps(step)}"
        events = [("deliver", {}) if one["do"] == "deliver" else ("check-turns", {}) if one["do"] == "check-turns"
                  else self.event(one) for one in inner]
        processes = [self.programs.start(*event) for event in events]
        results = [self.programs.finish(process) for process in processes]
        for result in results:
            self.say(f"    {result.program}: exit {result.exit}, {result.status if result.status else result.output.strip()[-150:]}")
            if result.exit not in ((0, 111) if result.program == "deliver" else (0,)):
                self.fail(Settled(f"{result.program}: exit {result.exit}; {result.log[-300:]}"))
        requests = [(one, result) for one, result in zip(inner, results) if one["do"] not in ("deliver", "check-turns")]
        worlds = self.world_after([one for one, _ in requests], [result for _, result in requests])
        if any(one["do"] == "check-turns" for one in inner):
            worlds = [world.copy() for world in worlds]
            looked = self.looked()
            later = [world.copy() for world in worlds]
            for world in [*later, self.world]:
                for player in looked:
                    world.look(player)
            worlds += later
        self.see_pushes([self.world, *worlds])

    ### Looks and deliveries

    def looked(self):
        """Players whom somebody asked Online-Go.com about since the last call."""
        looks = self.site.looks()
        looked = [player for player, count in looks.items() if count != self.looks.get(player, 0)]
        self.looks = looks
        return looked

    def do_check_turns(self, step):
        """A cycle, so much later that every player is due."""
        self.advance(step.get("later", 31) * 1000)
        self.doubt_old_activities([{"do": "check-turns"}])
        process = self.programs.start("check-turns", {})
        if step.get("kill_us") is not None:
            time.sleep(step["kill_us"] / 1e6)
            process.kill()
        result = self.programs.finish(process)
        self.say(f"    check-turns at {self.clock()}: exit {result.exit} {result.output.strip()}")
        if result.exit == KILLED:
            # Whether it has recorded its look is open: the next cycle settles that.
            self.await_drainer()
            self.looked_by(self.looked())
            return self.do_check_turns({"do": "check-turns"})
        if result.exit != 0:
            self.fail(Settled(f"check-turns: exit {result.exit}; {result.log[-300:]}"))
        self.looked_by(self.looked())

    def looked_by(self, players):
        # A drainer may send what one look has found before another one is recorded.
        worlds = [self.world]
        if self.spawn:
            subsets = (some for count in range(len(players)) for some in itertools.combinations(players, count))
            worlds += [self.world_having_seen(some) for some in subsets]
        for player in players:
            self.world.look(player)
        if players:
            self.say(f"    looked at {', '.join(players)}: {[g for p in players for g in self.world.waiting(p)]} wait")
        if self.spawn:
            self.await_drainer()
            self.see_pushes(worlds)

    def world_having_seen(self, looks):
        world = self.world.copy()
        for player in looks:
            world.look(player)
        return world

    def do_check(self, step):
        result = self.programs.run("check", self.programs.by_key(step["user"], "GET", f"/check/{step['user']}"))
        self.say(f"    check: {result.status} {json.dumps(result.body)}")
        if result.status != 200:
            self.fail(Settled(f"check: {result.status} {result.body}"))
        self.looked_by(self.looked())

    def do_deliver(self, step):
        process = self.programs.start("deliver", {})
        if step.get("kill_at"):
            self.gateway.kill_at(process, step["kill_at"], step.get("taken", False))
        elif step.get("kill_us") is not None:
            time.sleep(step["kill_us"] / 1e6)
            process.kill()
        result = self.programs.finish(process)
        self.gateway.await_end_of_connections()
        self.gateway.kill_at(None, 0, False)
        self.say(f"    deliver: exit {result.exit} {result.output.strip()}")
        if result.exit == KILLED:
            for push in self.gateway.pushes[self.seen:]:
                push.answered = False
        elif result.exit not in (0, 111):
            self.fail(Settled(f"deliver: exit {result.exit}; {result.log[-300:]}"))
        self.see_pushes([self.world])
        if result.exit == 0:
            self.world.note_drained()
        if result.exit == 0 and not self.programs.carries_activities():
            for violation in activity_rules.check_settled(self.world):
                self.fail(violation)
        return result

    def await_drainer(self):
        deadline = time.monotonic() + 60
        while self.programs.is_draining():
            if time.monotonic() > deadline:
                self.fail(Settled("a drainer has not ended within a minute"))
            time.sleep(0.005)

    def see_pushes(self, worlds):
        """Checks what came since the last call: each push must be right in one of the worlds."""
        self.gateway.await_end_of_connections()
        new, self.seen = self.gateway.pushes[self.seen:], len(self.gateway.pushes)
        for push in new:
            judge = activity_rules if push.token in NAME_OF else rules
            self.say(f"      {judge.described(push)}")
            violations = []
            for world in worlds:
                try:
                    judge.check(world, push)
                    break
                except Violation as violation:
                    violations.append(violation)
            else:
                self.fail(violations[0])
            if push.token in PHONE_OF or push.token in NAME_OF:
                for world in {id(world): world for world in [self.world, *worlds]}.values():
                    judge.record(world, push)
        if self.spawn:
            self.world.note_drained()
        if self.world.stirred:
            self.take_refusals()
        if any(listener.is_gone for listener in self.world.activities.listeners):
            self.take_gone_activities()

    def take_gone_activities(self):
        """After 410: an activity that is listed no more is gone; of one that is, too little is known."""
        book = self.world.activities
        for user in {listener.user for listener in book.listeners if listener.is_gone}:
            result = self.programs.run("push-status", self.programs.by_token(user, "GET", "/api/push/status"))
            listed = [entry["activityId"] for entry in result.body["liveActivityTokens"]]
            mine = [listener for listener in book.listeners if listener.user == user and not listener.starts]
            for activity in {listener.activity for listener in mine if listener.is_gone}:
                gone = [listener for listener in mine if listener.activity == activity and listener.is_gone]
                others = sum(listener.activity == activity for listener in mine) - len(gone)
                if listed.count(activity) == others:
                    book.listeners = [listener for listener in book.listeners if listener not in gone]
        for listener in book.listeners:
            listener.is_gone = False

    def take_refusals(self):
        """After 410 or BadDeviceToken: what is still listed is what counts."""
        listed = self.listing()
        self.world.learn_names(listed)
        for phone in self.world.stirred:
            for user in USERS:
                device = self.world.device(user, phone)
                if device is not None and device.name not in listed[user]:
                    self.world.drop(user, phone, "gone")
        self.world.stirred = set()

    ### Damage

    def do_damage(self, step):
        """Damages a file, as a disk does, at a place between 0 and 1. Nobody repairs it if it is `for_good`."""
        message = self.world.messages.get(step["of"])
        files = self.programs.spooled(message and message.id) if message or step["of"] is None else []
        if not files:
            return
        path = files[step["which"] % len(files)]
        with open(path, "r+b") as file:
            whole = file.read()
            left = damaged(whole, step["how"], step["at"])
            key = os.path.basename(path), left
            if key in self.copies or any(key[0] == name and whole == other for name, other in self.copies):
                return
            file.seek(0)
            file.truncate()
            file.write(left)
        self.say(f"    {os.path.relpath(path, self.programs.state)}, of {len(whole)} bytes")
        is_held = "/held/" in path
        self.copies[key] = None if is_held or step.get("for_good") else whole, step["of"]
        self.world.damage(step["of"], os.path.basename(os.path.dirname(path)) if is_held else None)

    def do_repair(self, step):
        """Puts back whatever was set aside and has a copy."""
        for path, key in self.programs.set_aside().items():
            whole, name = self.copies.get(key, (None, None))
            if whole is None:
                continue
            with open(path, "wb") as file:
                file.write(whole)
            lane = os.path.join(os.path.dirname(os.path.dirname(path)), "ready", "normal")
            os.makedirs(lane, exist_ok=True)
            os.rename(path, os.path.join(lane, key[0]))
            self.say(f"    {name or 'a turn notice'} is repaired")
            del self.copies[key]
            if name is not None:
                self.world.messages[name].is_broken = any(name == other for _, other in self.copies.values())

    ### The world around

    def do_wait(self, step):
        self.advance(step["seconds"] * 1000)

    def do_gateway(self, step):
        self.gateway.script({**PHONES, **TOKENS}[step["phone"]] if step.get("phone") else None, step["answers"])

    def do_move(self, step):
        if self.phase(step) == "play":
            self.change_game(step, do="move", game=step["game"])

    def do_undo(self, step):
        if self.phase(step) == "play":
            self.change_game(step, do="undo", game=step["game"])

    def do_pass(self, step):
        if self.phase(step) == "play":
            self.agreed.discard(step["game"])
            self.change_game(step, do="pass", game=step["game"])

    def do_accept(self, step):
        if self.phase(step) == "stone removal":
            self.agreed.add(step["game"])
            self.change_game(step, do="accept", game=step["game"], player=int(GAMES[step["game"]]))

    def do_pause(self, step):
        if self.phase(step):
            self.paused.add(step["game"])
            self.change_game(step, do="pause", game=step["game"], kind="moderator")

    def do_resume(self, step):
        if self.phase(step):
            self.paused.discard(step["game"])
            self.change_game(step, do="resume", game=step["game"])

    def do_resign(self, step):
        if self.phase(step):
            self.site.tell(do="finish", game=step["game"], outcome="Resignation")
            del self.world.games[step["game"]]

    def phase(self, step):
        """The game's phase, or None once it is over."""
        turn = self.world.games.get(step["game"])
        return turn and turn.phase

    def change_game(self, step, **command):
        game = step["game"]
        answer = self.site.tell(**command)
        mine = answer["to_move"] != OPPONENT if answer["phase"] == "play" else game not in self.agreed
        self.world.see_game(game, answer, mine and game not in self.paused)
        self.say(f"    {'waits' if self.world.games[game].waits else 'does not wait'}: {answer['moves']} moves, {answer['phase']}")

    ### The end

    def settle(self):
        """Lets everything that waits go out, and checks what is left."""
        self.say("-- settling: the gateway takes all, the clock goes on")
        self.world.group += 1
        self.gateway.clear()
        if self.ahead > 0:
            self.say("   the clock is right again")
            self.do_clock({"ahead": 0})
        self.look_at_all()
        for turn in range(60):
            self.do_deliver({})
            self.do_repair({})
            due = self.programs.next_due()
            self.check_put_off(due)
            # A message to several users of a phone is checked every ten minutes, for a month if one of them wants nothing.
            moments = self.world.ends_of_holding() if turn > 20 else []
            moments = moments or self.world.ends_of_holding() + ([] if due is None else [due])
            if not moments and not self.programs.is_ready():
                break
            self.advance(max(min(moments, default=0) - self.world.now, 61_000))
            self.do_check_turns({})
        for _ in range(3):
            self.advance(16 * 60_000)
            self.do_check_turns({})
            seen = self.seen
            for _ in range(20):
                if self.programs.is_empty():
                    break
                self.do_deliver({})
                due = self.programs.next_due()
                if due is None and not self.programs.is_ready():
                    break
                self.advance(max((due or 0) - self.world.now, TICK))
            if seen == self.seen and not any(self.findings_of_turns()):
                break
        self.check_files()
        listed = self.listing()
        self.world.learn_names(listed)
        if listed != self.world.listing():
            self.fail(Registered(f"listed: {listed}, the model: {self.world.listing()}"))
        for violation in self.findings():
            self.fail(violation)

    def look_at_all(self):
        """Each player with a device is looked at in each period, wherever the clock has been."""
        looked = set()
        for _ in range(2):
            before = dict(self.looks)
            self.do_check_turns({})
            looked |= {player for player, count in self.looks.items() if count != before.get(player, 0)}
        for player in PLAYERS:
            if player in self.world.watched and player not in looked and any(
                    not device.doubtful for device in self.world.devices[player]):
                self.fail(TurnUntold(f"{player} was not looked at in two periods of check-turns"))

    def check_put_off(self, due):
        """Nothing waits longer than a day, but for what its sender wants later."""
        wanted = max((message.due for message in self.world.messages.values() if message.due), default=0)
        # What is wanted later than in ten minutes goes out within a minute of that.
        if due is not None and due > max(self.world.now + DAY, wanted + 60_000):
            self.fail(Settled(f"something waits for {(due - self.world.now) // 3_600_000} hours"))

    def findings_of_turns(self):
        for check in (rules.check_turns_told, rules.check_icons):
            try:
                check(self.world)
            except Violation as violation:
                yield violation

    def findings(self):
        yield from self.findings_of_turns()
        yield from activity_rules.check_settled(self.world)
        reports = {}
        for message in self.world.messages.values():
            result = self.programs.run("notify", self.programs.by_server("GET", f"/api/notify/{message.id}"))
            # Receipts are kept for 30 days.
            if result.status == 404 and message.is_forgotten(self.world.now):
                continue
            if result.status != 200:
                yield Report(f"{message.name}: GET answers {result.status} {result.body}")
                continue
            reports[message.name] = result.body
            try:
                rules.check_report(self.world, message, result.body)
            except Violation as violation:
                yield violation
        if any(message.badge for message in self.world.messages.values()) and len(reports) == len(self.world.messages):
            badge = self.programs.run("badge", self.programs.by_server("GET", "/api/badge?userId=ann")).body["badge"]
            try:
                rules.check_badge_of_messages(self.world, badge, reports)
            except Violation as violation:
                yield violation
        health = self.programs.run("health", {"method": "GET", "path": "/health"})
        if health.status != (503 if self.programs.set_aside() else 200):
            yield Settled(f"health: {health.status} {health.body}")

    def check_files(self):
        aside = self.programs.set_aside()
        for key, (_, message) in self.copies.items():
            if key not in aside.values():
                self.fail(Settled(f"the damaged file of {message or 'a turn notice'} is gone, or was changed"))
        for folder, _, names in os.walk(self.programs.state):
            for name in names:
                path = os.path.join(folder, name)
                short = os.path.relpath(path, self.programs.state)
                if ".corrupt" in name:
                    self.fail(Settled(f"{short} is there"))
                elif name.endswith(".json"):
                    try:
                        with open(path) as file:
                            json.load(file)
                    except ValueError as error:
                        self.fail(Settled(f"{short}: {error}"))
                elif path in aside and aside[path] in self.copies:
                    continue
                elif "/repairs/" in short and not any(key[0] == f"{name.removesuffix('.json')}.jsonl" for key in aside.values()):
                    self.fail(Settled(f"{short} is left, and what it tells of is gone"))
                elif "/cancelled/" in short and any(key[0] == f"{name}.jsonl" for key in aside.values()):
                    continue
                elif short.startswith("spool/") and (short.split("/") + [""])[2] in ("ready", "waiting", "failed", "cancelled"):
                    # A call that was killed is repeated under another id: what it left stays for 25 hours.
                    if not ("/cancelled/" in short and name.endswith(".lock")) and not (
                            self.killed_calls and name.endswith(".jsonl.new")):
                        self.fail(Settled(f"{short} is left in the spool"))


def damaged(whole, how, at):
    """A file's bytes after a cut, with a byte that no JSON has, or without one of several lines."""
    place = round((len(whole) - 2) * at)
    if how == "byte":
        return whole[:place] + b"\0" + whole[place + 1:]
    lines = whole.splitlines(keepends=True)
    if how == "line" and len(lines) > 1:
        del lines[round((len(lines) - 1) * at)]
        return b"".join(lines)
    return whole[:place]


def quiet_in(wishes):
    hours = wishes.get("quietHours")
    return hours and tuple(int(hours[end][:2]) * 60 + int(hours[end][3:]) for end in ("from", "to")) or None


def muted_in(wishes):
    until = wishes.get("mutedUntil")
    return calendar.timegm(time.strptime(until[:19], "%Y-%m-%dT%H:%M:%S")) if until else 0


def is_explained(listed, expected, gone):
    """Whether the devices are those of the model, but for those that the gateway just said are gone."""
    return all(expected[user] - gone <= listed[user] <= expected[user] for user in USERS)
