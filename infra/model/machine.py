"""Random histories, by Hypothesis: the rules of its state machine make steps, which a History does."""

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from activities import POOLS, SESSION, TOKENS
from gateway import FINAL, TEMPORARY, UNANSWERED
from history import History
from world import GAMES, PHONES, PLAYERS, START, USERS, ZONES, daylight_changes

phones = st.sampled_from(sorted(PHONES))
users = st.sampled_from(USERS)
players = st.sampled_from(PLAYERS)
games = st.sampled_from(sorted(GAMES))
some_users = st.lists(users, min_size=1, max_size=2, unique=True)
kinds = st.sampled_from([None, "news"])
collapses = st.sampled_from([None, None, "c1", "c2"])
answers = st.lists(st.sampled_from(TEMPORARY + UNANSWERED + TEMPORARY + FINAL), min_size=1, max_size=3)
# Seconds that the programs' clock is ahead of the right one: behind it, right again, or far ahead.
clocks = st.sampled_from([-2, -90, -1000, -7200, -50_000, -260_000, 0, 0, 0, 40, 4000, 90_000, 260_000, 1_700_000])
tokens = st.sampled_from(sorted(TOKENS))
listens = st.builds(
    lambda user, token, previous: {"do": "listen", "user": user, "token": token,
                                   **({"previous": f"{token.split('.')[0]}.{previous}"} if previous is not None else {})},
    st.sampled_from(["ann", "ann", "ann", "101"]), tokens, st.sampled_from([None, None, 0, 1, 2]))
unlistens = st.builds(lambda user, token: {"do": "unlisten", "user": user, "token": token}, st.sampled_from(["ann", "ann", "101"]), tokens)
selections = st.sampled_from([{"activity": "A1"}, {"activity": "A1"}, {"activity": "A2"}, {"session": SESSION}, {"session": SESSION},
                              {"user": "ann"}, {"session": SESSION, "user": "ann"}, {"activity": "A1", "session": SESSION}])
calls = st.builds(
    lambda whose, event, at, stale, flag: {
        "do": "activity", "event": event, **whose, **({} if at is None else {"at": at}), **({} if stale is None else {"stale": stale}),
        **({"content" if event == "end" else "alert": True} if flag else {})},
    selections, st.sampled_from(["update"] * 6 + ["end"]), st.sampled_from([None, None, None, None, -0.5, -3, -20, 0.25, 5, 600]),
    st.sampled_from([None, None, None, -50, 60, 1000]), st.sampled_from([False, False, True]))
session_updates = st.builds(
    lambda whose, alert, stale: {"do": "activity", "event": "update", **whose, **({"alert": True} if alert else {}),
                                 **({} if stale is None else {"stale": stale})},
    st.sampled_from([{"session": SESSION}] * 3 + [{"activity": "A1"}]), st.booleans(), st.sampled_from([None, 1000, 5000]))
starts = st.builds(lambda user, stale: {"do": "activity", "event": "start", "user": user, "alert": True, **({} if stale is None else {"stale": stale})},
                   st.sampled_from(["ann", "ann", "101"]), st.sampled_from([None, None, 60, 1000]))
calls = st.one_of(calls, calls, calls, calls, starts)
microseconds = st.sampled_from([0, 300, 700, 1500, 3000, 6000, 12000])

registers = st.builds(lambda user, phone: {"do": "register", "user": user, "phone": phone}, players, phones)
claims = st.builds(
    lambda user, phone, by, previous: {"do": "claim", "user": user, "phone": phone, "by": by, **({"previous": previous} if previous and by == "push" else {})},
    users, phones, st.sampled_from(["push", "push", "devices"]), st.none() | phones)
unregisters = st.builds(lambda user, phone, by: {"do": "unregister", "user": user, "phone": phone, "by": by},
                        users, phones, st.sampled_from(["devices", "invalidate"])) | st.builds(
    lambda user, phone: {"do": "unregister", "user": user, "phone": phone, "by": "key"}, players, phones)
preferences = st.builds(
    lambda user, off, mute, quiet: {"do": "preferences", "user": user, "off": off, "mute": mute, "quiet": quiet},
    users, st.lists(st.sampled_from(["turn", "news", "message", "approval_request"]), max_size=1),
    st.sampled_from([0, 0, 30, 90, 3000, 50_000]), st.sampled_from([0, 0, 45, 45, 600]))
notifies = st.builds(
    lambda who, kind, collapse, after, expires, how: {
        name: value for name, value in {"do": "notify", "users": who, "kind": kind, "collapse": collapse, "after": after,
                                        "expires": expires, **({how: True} if how else {})}.items() if value},
    some_users, kinds, collapses, st.sampled_from([0, 0, 0, 60, 1200]), st.sampled_from([None, None, 600, 7200]),
    st.sampled_from(["", "", "", "urgent", "silent"]))
damages = st.builds(
    lambda which, how, at, for_good: {"do": "damage", "which": which, "how": how, "at": at, **({"for_good": True} if for_good else {})},
    st.sampled_from([0, 0, 1]), st.sampled_from(["cut", "byte", "line"]), st.sampled_from([0, 0.1, 0.3, 0.6, 0.9, 1]),
    st.sampled_from([False, False, True]))
requests = st.builds(lambda who: {"do": "request", "users": who}, some_users)


def beginnings():
    """Moments some hours before clocks change, or a moment where they never do."""
    for zone in ZONES:
        for change in daylight_changes(zone) or [START]:
            for hours in (0, 1, 3, 9):
                yield change - hours * 3_600_000, zone


# What a history is about: histories of everything find less, as each thing comes too seldom.
TOPICS = [{"messages", "turns"}, {"messages", "turns"}, {"messages", "turns", "clocks"}, {"messages", "clocks"}, {"activities"},
          {"activities", "clocks"}, {"messages", "turns", "activities", "clocks"},
          {"messages", "badges"}, {"messages", "badges", "clocks"}, {"messages", "badges", "damage"},
          {"messages", "damage"}, {"messages", "turns", "damage"}, {"messages", "clocks", "shards", "damage"},
          {"messages", "turns", "floods"}, {"messages", "turns", "shards"}, {"activities", "clocks", "shards"}]


def about(topic):
    """A rule of histories about a topic."""
    return precondition(lambda self: topic in self.topics)


when = st.sampled_from(list(beginnings()))


class Interleavings(RuleBasedStateMachine):
    """The steps that one history may have. What `begin` makes is set from outside."""

    begin = None
    failed = None
    topic = None  # what all histories are about, if not None

    def __init__(self):
        super().__init__()
        self.history = None
        self.topics = set()

    def do(self, step):
        if step["do"] == "notify" and "badges" in self.topics and step["users"] == ["ann"] and not step.get("silent"):
            step = {**step, "badge": 1}
        try:
            self.history.do(step)
        except Exception as error:
            self.report(error)
            self.history.end()
            raise

    def report(self, error):
        if self.history is not None:
            type(self).failed(self.history, error)

    @initialize(data=st.data(), spawn=st.sampled_from([False] * 7 + [True]), when=st.none() | when, more=st.lists(registers, max_size=2))
    def start(self, data, spawn, when, more):
        self.topics = topics = data.draw(st.sampled_from([topics for topics in TOPICS if self.topic in topics or self.topic is None]))
        self.history = type(self).begin(spawn, *(when or (START, "Etc/UTC")))
        self.do({"do": "claim", "user": "ann", "phone": "a", "by": "push"})
        self.do({"do": "register", "user": "101", "phone": "b"})
        self.do({"do": "register", "user": "102", "phone": "c"})
        for step in more:
            self.do(step)
        if "activities" in topics:
            self.do({"do": "listen", "user": "ann", "token": "A1.0"})
            self.do({"do": "listen", "user": "101", "token": "S.0"})
            self.do({"do": "listen", "user": "ann", "token": "P.0"})

    @rule(step=registers)
    def register(self, step):
        self.do(step)

    @about("messages")
    @rule(step=claims)
    def claim(self, step):
        self.do(step)

    @about("messages")
    @rule(step=unregisters)
    def unregister(self, step):
        self.do(step)

    @about("messages")
    @rule(step=preferences)
    def prefer(self, step):
        self.do(step)

    @about("messages")
    @rule(step=notifies)
    def notify(self, step):
        self.do(dict(step))

    @about("messages")
    @rule(step=requests)
    def request_approval(self, step):
        self.do(dict(step))

    @precondition(lambda self: self.named(True))
    @about("messages")
    @rule(data=st.data())
    def clear(self, data):
        name = data.draw(st.sampled_from(self.named(True)))
        self.do({"do": "clear", "users": list(self.history.world.messages[name].users), "request": name})

    @precondition(lambda self: self.named(False))
    @about("messages")
    @rule(data=st.data())
    def cancel(self, data):
        self.do({"do": "cancel", "message": data.draw(st.sampled_from(self.named(False)))})

    def named(self, requests):
        if self.history is None:
            return []
        messages = self.history.world.messages
        cleared = {message.request for message in messages.values() if message.event == "approval_cleared"}
        return [name for name, message in messages.items()
                if not requests or message.event == "approval_request" and message.request not in cleared]

    @precondition(lambda self: "badges" not in self.topics)
    @about("messages")
    @rule(change=st.sampled_from(["+1", "-1", 3, 0]))
    def badge(self, change):
        self.do({"do": "badge", "user": "ann", "badge": change})

    @about("turns")
    @rule(game=games, what=st.sampled_from(["move"] * 5 + ["undo", "undo", "pause", "resume", "resign", "pass", "accept"]))
    def play(self, game, what):
        self.do({"do": what, "game": game})

    @about("turns")
    @rule(game=games)
    def move(self, game):
        self.do({"do": "move", "game": game})

    @about("turns")
    @rule(kill=st.sampled_from([None] * 6 + [1000, 4000, 8000, 15000]))
    def check_turns(self, kill):
        self.do({"do": "check-turns"} if kill is None else {"do": "check-turns", "kill_us": kill})

    @about("turns")
    @rule(player=players)
    def check(self, player):
        self.do({"do": "check", "user": player})

    @rule(how=st.sampled_from([{}] * 8 + [{"kill_at": 1}, {"kill_at": 1, "taken": True}, {"kill_at": 2, "taken": True},
                                          {"kill_us": 2000}, {"kill_us": 8000}, {"kill_us": 20000}]))
    def deliver(self, how):
        self.do({"do": "deliver", **how})

    @rule(phone=st.none() | phones, answers=answers)
    def gateway(self, phone, answers):
        self.do({"do": "gateway", "phone": phone, "answers": answers})

    @about("messages")
    @rule(phone=st.none() | phones, answer=st.sampled_from(["503", "429", "lost", "410"]), check=st.booleans())
    def fail_once(self, phone, answer, check):
        """The commonest beginning of trouble: a push that fails."""
        self.do({"do": "gateway", "phone": phone, "answers": [answer]})
        if check:
            self.do({"do": "check-turns"})
        self.do({"do": "deliver"})

    @about("floods")
    @rule(users=st.sampled_from([["ann"], ["101"], ["ann", "101"]]), urgent=st.booleans(), between=st.none() | notifies | unregisters | preferences | claims,
          how=st.sampled_from([{}, {"kill_at": 1}, {"kill_at": 60, "taken": True}, {"kill_at": 105, "taken": True}, {"kill_us": 30000}]))
    def flood(self, users, urgent, between, how):
        """More messages to the same users than `deliver` has in hand for one, a change, and a drainer that may be killed."""
        self.do({"do": "flood", "users": users, "urgent": urgent, "count": 120})
        if between is not None:
            self.do(dict(between))
        self.do({"do": "deliver", **how})

    @about("messages")
    @rule(step=notifies, answer=st.sampled_from(["200", "503", "429", "lost", "drop", "410"]))
    def notify_and_deliver(self, step, answer):
        self.do(dict(step))
        if answer != "200":
            self.do({"do": "gateway", "phone": None, "answers": [answer]})
        self.do({"do": "deliver"})

    @about("turns")
    @rule(game=games)
    def move_and_look(self, game):
        self.do({"do": "move", "game": game})
        self.do({"do": "check-turns"})

    @about("turns")
    @rule(game=games, look=st.booleans(), deliver=st.booleans())
    def take_back(self, game, look, deliver):
        """A move is told, taken back, and made again."""
        waits = self.history.world.games.get(game)
        if waits is None:
            return
        if not waits.waits:
            self.move_and_look(game)
        self.do({"do": "deliver"})
        self.do({"do": "undo", "game": game})
        if look:
            self.do({"do": "check-turns"})
        self.do({"do": "move", "game": game})
        self.do({"do": "check-turns"})
        if deliver:
            self.do({"do": "deliver"})

    @about("turns")
    @rule(player=players, game=games, phone=phones, by=st.sampled_from(["register", "push"]))
    def install_again(self, player, game, phone, by):
        """The app was removed when its push came, and is installed again with another token."""
        self.do({"do": "gateway", "phone": None, "answers": ["410"]})
        self.move_and_look(game)
        self.do({"do": "deliver"})
        if by == "register":
            self.do({"do": "register", "user": player, "phone": phone})
        else:
            self.do({"do": "claim", "user": player, "phone": phone, "by": "push"})

    @about("messages")
    @rule(first=notifies | requests | games, answer=st.sampled_from(["503", "503 after 60", "429", "lost", "refused"]),
          change=st.one_of(registers, claims, unregisters, preferences, notifies, games), seconds=st.sampled_from([61, 1000, 1900]),
          look=st.booleans())
    def change_between(self, first, answer, change, seconds, look):
        """Something changes between two tries of a push."""
        for game_or_step in (first, change):
            if isinstance(game_or_step, int):
                self.move_and_look(game_or_step)
            else:
                self.do(dict(game_or_step))
            if game_or_step is first:
                self.do({"do": "gateway", "phone": None, "answers": [answer]})
            self.do({"do": "deliver"})
        self.do({"do": "wait", "seconds": seconds})
        if look:
            self.do({"do": "check-turns"})
        self.do({"do": "deliver"})

    @about("clocks")
    @rule(ahead=clocks)
    def clock(self, ahead):
        self.do({"do": "clock", "ahead": ahead})

    @precondition(lambda self: self.named(False))
    @about("messages")
    @rule(data=st.data())
    def again(self, data):
        self.do({"do": "again", "message": data.draw(st.sampled_from(self.named(False)))})

    @about("clocks")
    @rule(first=notifies | requests | games, second=st.none() | notifies | requests | games, answer=st.sampled_from(["200", "503", "429", "lost", "refused"]),
          aheads=st.lists(clocks, min_size=2, max_size=2), repeat=st.booleans())
    def change_clock_between(self, first, second, answer, aheads, repeat):
        """The clock is wrong between two tries of a push, or between two pushes."""
        self.do({"do": "clock", "ahead": aheads[0]})
        for game_or_step in (first, second):
            if isinstance(game_or_step, int):
                self.move_and_look(game_or_step)
            elif game_or_step is not None:
                self.do(dict(game_or_step))
            if game_or_step is first:
                self.do({"do": "gateway", "phone": None, "answers": [answer]})
                self.do({"do": "deliver"})
                self.do({"do": "clock", "ahead": aheads[1]})
        names = self.named(False)
        if repeat and names:
            self.do({"do": "again", "message": names[-1]})
        self.do({"do": "deliver"})

    @rule(seconds=st.sampled_from([15, 61, 300, 1000, 1900, 5400, 20000]), deliver=st.booleans())
    def wait(self, seconds, deliver):
        self.do({"do": "wait", "seconds": seconds})
        if deliver:
            self.do({"do": "deliver"})

    @about("messages")
    @rule(step=st.one_of(registers, claims, unregisters, preferences, notifies), us=microseconds)
    def kill(self, step, us):
        self.do({"do": "kill", "us": us, "step": dict(step)})

    @about("messages")
    @rule(steps=st.lists(st.one_of(registers, claims, unregisters, preferences, notifies), min_size=1, max_size=3),
          others=st.sampled_from([[], ["deliver"], ["check-turns"], ["deliver", "deliver"], ["deliver", "check-turns"]]))
    def together(self, steps, others):
        self.do({"do": "together", "steps": [dict(step) for step in steps] + [{"do": other} for other in others]})

    @about("shards")
    @rule(count=st.sampled_from([1, 2, 3]), deliver=st.booleans())
    def change_shards(self, count, deliver):
        """Each push service has another number of queues, whatever waits."""
        self.do({"do": "shards", "count": count})
        if deliver:
            self.do({"do": "deliver"})

    ### Damage

    @about("damage")
    @rule(step=damages, data=st.data())
    def damage(self, step, data):
        # The newest ones are those that wait.
        names = self.named(False)[-3:] + ([None] if "turns" in self.topics else [])
        if names:
            self.do({**step, "of": data.draw(st.sampled_from(names))})

    @about("damage")
    @rule()
    def repair(self):
        self.do({"do": "repair"})

    @about("damage")
    @rule(step=notifies, first=st.sampled_from([None, "503", "429", "lost", "410", "200"]), how=damages, between=st.none() | preferences | unregisters | claims,
          kill=st.sampled_from([{}, {}, {"kill_at": 1}, {"kill_at": 1, "taken": True}, {"kill_us": 3000}]), again=st.sampled_from(["", "", "cancel", "again", "deliver"]),
          repair=st.booleans())
    def damage_a_message(self, step, first, how, between, kill, again, repair):
        """A message is damaged before or after its first try, set aside, and perhaps repaired."""
        self.do(dict(step))
        name = self.named(False)[-1]
        if first is not None:
            self.do({"do": "gateway", "phone": None, "answers": [first]})
            self.do({"do": "deliver", **kill})
        self.do({**how, "of": name})
        if between is not None:
            self.do(dict(between))
        if again in ("cancel", "again"):
            self.do({"do": again, "message": name})
        else:
            self.do({"do": "wait", "seconds": 61})
            self.do({"do": "deliver", **({} if again else kill)})
        if repair:
            self.do({"do": "repair"})
            self.do({"do": "deliver"})

    ### Live Activities

    @about("activities")
    @rule(step=listens)
    def listen(self, step):
        self.do(dict(step))

    @about("activities")
    @rule(step=unlistens)
    def unlisten(self, step):
        self.do(dict(step))

    @about("activities")
    @rule(step=calls, deliver=st.booleans())
    def call(self, step, deliver):
        self.do(dict(step))
        if deliver:
            self.do({"do": "deliver"})

    @about("activities")
    @rule(seconds=st.sampled_from([3, 13, 14, 15, 30]))
    def wait_a_moment(self, seconds):
        self.do({"do": "wait", "seconds": seconds})
        self.do({"do": "deliver"})

    @about("activities")
    @rule(first=calls, answer=st.sampled_from(["200", "503", "503 after 60", "429", "lost", "cut", "refused", "410"]), token=st.none() | tokens,
          between=st.lists(st.one_of(calls, calls, listens, unlistens), min_size=1, max_size=2), seconds=st.sampled_from([0, 1, 15, 61, 1000]),
          ahead=st.none() | clocks)
    def change_activity_between(self, first, answer, token, between, seconds, ahead):
        """Something changes between two tries of an activity's push."""
        self.do(dict(first))
        self.do({"do": "gateway", "phone": token, "answers": [answer]})
        self.do({"do": "deliver"})
        if ahead is not None and "clocks" in self.topics:
            self.do({"do": "clock", "ahead": ahead})
        for step in between:
            self.do(dict(step))
        if seconds:
            self.do({"do": "wait", "seconds": seconds})
        self.do({"do": "deliver"})

    @about("activities")
    @rule(token=st.none() | tokens, steps=st.lists(
        st.tuples(session_updates, st.sampled_from(["200", "429", "429 after 30", "503 after 60", "503"]), st.sampled_from([14, 15, 16, 31, 61, 400])),
        min_size=2, max_size=5))
    def session_goes_on(self, token, steps):
        """A session's pushes are put off, and it goes on, with alerts of its own and of its activity."""
        for step, answer, seconds in steps:
            self.do(dict(step))
            if answer != "200":
                self.do({"do": "gateway", "phone": token, "answers": [answer]})
            self.do({"do": "wait", "seconds": seconds})
            self.do({"do": "deliver"})

    @about("activities")
    @rule(token=st.none() | tokens, answers=answers)
    def gateway_of_activities(self, token, answers):
        self.do({"do": "gateway", "phone": token, "answers": answers})

    @about("activities")
    @rule(step=st.one_of(calls, calls, listens, unlistens), us=microseconds)
    def kill_of_activities(self, step, us):
        self.do({"do": "kill", "us": us, "step": dict(step)})

    @about("activities")
    @rule(steps=st.lists(st.one_of(calls, calls, unlistens, listens.map(lambda step: {**step, "previous": None})), min_size=1, max_size=3),
          others=st.sampled_from([[], ["deliver"], ["deliver"], ["deliver", "deliver"]]))
    def together_activities(self, steps, others):
        self.do({"do": "together", "steps": [dict(step) for step in steps] + [{"do": other} for other in others]})

    def teardown(self):
        if self.history is not None:
            try:
                self.history.settle()
            except Exception as error:
                self.report(error)
                raise
            finally:
                self.history.end()
