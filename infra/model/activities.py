"""The model of Live Activities: the listeners, the states that each must get, and those that each was shown.

Written from the documents alone, as `world.py`, which keeps one `Activities`.
"""

import copy
from dataclasses import dataclass, field

SESSION = "S"
# An activity, and its session; "S": tokens that name the session alone; "P": tokens that start activities.
POOLS = {"A1": SESSION, "A2": None, "S": SESSION, "P": None}
TYPE = "Build"  # which these start
TOKENS = {f"{pool}.{index}": f"{0xd0 + 4 * number + index:02x}" + "ac71f17e" * 9
          for number, pool in enumerate(POOLS) for index in range(3)}
NAME_OF = {token: name for name, token in TOKENS.items()}

DAY = 86_400_000
PERIOD = 15_000
LIFE = 300_000  # an update is tried for as long at least
LIFE_OF_END = 12 * 3_600_000


def activity_of(name):
    """The activity that a token is for, or None where it is for the session alone."""
    pool = name.split(".")[0]
    return None if pool in ("S", "P") else pool


@dataclass
class State:
    """An accepted call, as one listener is to get it."""

    number: int | None  # which its `contentState` has; None: an end with whatever is newest
    event: str
    moment: int  # its `timestamp`
    group: int
    accepted: int
    expires: int
    alert: bool = False
    held: bool = False  # the answer said so, of this listener alone
    excused: bool = False
    of_session: bool = False  # sent to all who listen to the session
    misdated: bool = False  # its moment was stored by a clock that was more than an hour ahead
    undated: bool = False  # without a timestamp: newer than all that came before it

    def is_newer_than(self, other):
        """Whether this one surely takes the place of another.

        What was sent to an activity alone is not overtaken by what its session got before; else the documents do not compare the two.
        """
        # Which of two calls at the same time came first is open.
        if self.group == other.group and (self.undated or other.undated):
            return False
        if self.of_session != other.of_session:
            return self.group > other.group and (other.of_session or self.moment > other.moment)
        return self.moment > other.moment or self.moment == other.moment and self.group > other.group


@dataclass
class Shown:
    """What a phone took at a token."""

    id: str
    token: str
    event: str
    number: int | None
    alert: int | None
    timestamp: int
    moment: int | None  # by the clock; None once that was set back
    answered: bool


@dataclass(eq=False)
class Listener:
    """A Live Activity on somebody's phone. It stays when its token is replaced."""

    user: str
    token: str
    registered: int
    group: int
    new_in: int = 0  # the group in which the user came to have it; nobody may have had it in between
    doubtful: bool = False  # what is known of it, and whether it is pushed to, is not checked
    rivals: set = field(default_factory=set)  # users who registered the token at the same time: one of them may have it
    others: set = field(default_factory=set)  # tokens registered for it at the same time: one of them may be the present one
    former: tuple = ()  # the token that was replaced last, and in which group: it may have got a push just before
    is_gone: bool = False  # APNs has said so just now
    states: list = field(default_factory=list)
    shown: list = field(default_factory=list)
    tried: set = field(default_factory=set)  # numbers of updates with an alert of their own of which there was a push
    unanswered: set = field(default_factory=set)  # numbers of alerts in pushes that got no answer: they may have arrived

    @property
    def activity(self):
        return activity_of(self.token)

    @property
    def session(self):
        return POOLS[self.token.split(".")[0]]

    def has_ended(self):
        return any(state.event == "end" for state in self.states)

    def is_known_later_than(self, moment, now):
        """What is more than an hour ahead was stored by a wrong clock. It does not count, nor does it later, once a
        state has taken its place."""
        return any(moment < state.moment <= now + 3_600_000 and not state.misdated for state in self.states)

    def updates(self):
        return [state for state in self.states if state.event == "update"]

    @property
    def starts(self):
        return self.token.startswith("P")

    def fits(self, step):
        return self.starts == (step["event"] == "start") and all(wanted is None or wanted == mine for wanted, mine in (
            (step.get("activity"), self.activity), (step.get("session"), self.session), (step.get("user"), self.user)))


class Activities:
    def __init__(self):
        self.listeners = []
        self.calls = {}  # number: (step, group) of each call
        self.owners = {}  # activity: users who ever had it
        self.repeated = set()  # numbers of calls that were asked for again, after a killed program may have done them
        self.left = set()  # (user, token): unregistered once
        self.complaint = None
        self.is_set_back = False  # whether the clock ever was

    def set_back(self):
        self.is_set_back = True
        for listener in self.listeners:
            for shown in listener.shown:
                shown.moment = None

    def observe(self, now):
        for listener in self.listeners:
            for state in listener.states:
                state.excused = state.excused or now >= state.expires

    def holder(self, token):
        return next((listener for listener in self.listeners if listener.token == token),
                    next((listener for listener in self.listeners if token in listener.others), None))

    def former_holder(self, token, group):
        """The listener whose token this was until the present group of steps."""
        return next((listener for listener in self.listeners if listener.former == (token, group)), None)

    def doubt_old(self, user, now):
        """The user registers something, perhaps, or (None) check-turns runs: tokens that are a day old may go."""
        for listener in self.listeners:
            if user in (None, listener.user) and not listener.starts and now - listener.registered >= DAY:
                listener.doubtful = True

    def end_old(self, user, now):
        """The user registers a token: those that are a day old go."""
        self.listeners = [listener for listener in self.listeners
                          if listener.user != user or listener.doubtful or listener.starts or now - listener.registered < DAY]

    def doubt_open(self, others):
        """Other orders of the same requests explain the answers, too. No list shows who listens, so a listener that only some
        of them have is open."""
        names = [{(listener.user, listener.token) for listener in one.listeners} for one in (self, *others)]
        for other in others:
            self.listeners += [copy.deepcopy(listener) for listener in other.listeners if self.holder(listener.token) is None]
        for listener in self.listeners:
            listener.doubtful = listener.doubtful or not all((listener.user, listener.token) in one for one in names)

    ### Steps. Each answers with the statuses that are right for it.

    def is_twin(self, step):
        """Whether both tokens are the user's already: which of the two listeners stays, the documents leave open."""
        mine, previous = self.holder(step["token"]), self.holder(step.get("previous"))
        return bool(mine and previous and mine is not previous and mine.user == previous.user == step["user"])

    def listen(self, step, status, now, group):
        user, token = step["user"], step["token"]
        activity = activity_of(token)
        if activity:
            others = [listener for listener in self.listeners if listener.activity == activity and listener.user != user]
            # A user who registers the other user's own token may have it and its activity. A token that is a day old is over.
            # If `previous` names the other user's token, the documents allow either answer.
            if any(not listener.doubtful and listener.token not in (token, step.get("previous")) and now - listener.registered < DAY
                   for listener in others):
                return {409}
            if status == 409 and (others or self.owners.get(activity, set()) - {user}):
                return {409}
            self.owners.setdefault(activity, set()).add(user)
            self.listeners = [listener for listener in self.listeners if listener not in others or listener.token == step.get("previous")]
        losers = [listener for listener in self.listeners if listener.token == token and listener.user != user]
        rivals = set().union(*({loser.user} | loser.rivals for loser in losers if loser.group == group))
        self.listeners = [listener for listener in self.listeners if listener not in losers]
        same = next((l for l in self.listeners if l.user == user and (
            l.token in (token, step.get("previous")) or activity and l.activity == activity)), None)
        if same is None:
            new = Listener(user, token, now, group, new_in=group)
            # Whether a call at the same time counts for it is open.
            new.doubtful = bool(rivals) or any(when == group and new.fits(call) for call, when in self.calls.values())
            new.rivals = rivals
            self.listeners.append(new)
        else:
            same.doubtful = same.doubtful or not same.starts and now - same.registered >= DAY
            if same.doubtful:
                # It may have gone before, and be another one now.
                same.states, same.shown = [], []
            same.others = (same.others | {same.token}) - {token} if same.group == group else set()
            if same.token != token and same.group != group:
                same.former = (same.token, group)
            same.token, same.registered, same.group = token, now, group
        self.end_old(user, now)
        return {200}

    def unlisten(self, step, status, group, again=False):
        listener = self.holder(step["token"])
        if listener is None or listener.user != step["user"]:
            is_rival = listener is not None and step["user"] in listener.rivals
            if is_rival:
                listener.doubtful = True
            return {200, 403, 404} if again or is_rival else {403, 404}
        if status in (403, 404) and listener.doubtful and listener.group == group:
            # It was registered at the same time, perhaps afterwards.
            return {200, 403, 404}
        self.listeners.remove(listener)
        self.left.add((listener.user, listener.token))
        return {200, 403, 404} if listener.doubtful or again else {200}

    def call(self, step, status, answer, now, group, again=False):
        self.complaint = None
        fits = [listener for listener in self.listeners if listener.fits(step)]
        if not fits:
            rivals = [user for listener in self.listeners for user in listener.rivals if step.get("user") in (None, user)]
            return {202, 404, 409} if rivals else {404}
        for listener in fits:
            listener.doubtful = listener.doubtful or listener.new_in == group
        doubtful = [listener for listener in fits if listener.doubtful]
        sure = [listener for listener in fits if not listener.doubtful]
        able = [listener for listener in sure if listener.starts or not listener.has_ended()]
        number, moment = step.get("state"), step["moment"]
        # An activity that has no state yet, perhaps one that is registered at the same time, ends without one where its session has one.
        stateless = step["event"] == "end" and number is None and not all(listener.states for listener in able + doubtful)
        if status == 202:
            self.calls[step["number"]] = (step, group)
            if again:
                self.repeated.add(step["number"])
        right = {409}
        if able:
            right = {202, 409} if stateless or again else {202}
        elif doubtful:
            right = {202, 404, 409}
        if again and status == 409 and stateless:
            # It was refused for want of a state, or a killed call has ended them with their session's.
            for listener in able:
                listener.doubtful = True
            return right
        # A killed call may have ended them all, so that its repetition finds nothing to end.
        if status != 202 and not (again and status == 409 and step["event"] == "end"):
            return right
        outdated = [listener for listener in able if step["event"] == "update" and listener.is_known_later_than(moment, now)]
        of_session = bool(step.get("session")) and not step.get("activity") and not step.get("user")
        # For a session, only the session's own states count, even if no listener got them, and not those of one activity.
        # Without a timestamp, a state is newer than all before it.
        is_open = of_session or bool(outdated) and (step.get("at") is None or any(
            state.of_session for listener in outdated for state in listener.states))
        if not doubtful and not again and not is_open:
            self.judge(step, answer, fits, able, outdated, now)
        expires = now + LIFE_OF_END
        if step["event"] != "end":
            expires = max(now + LIFE, (step["until"] or 0) * 1000)
        for listener in able + doubtful:
            late = step["event"] == "update" and listener.is_known_later_than(moment, now)
            if late and not is_open or answer == "outdated" and (is_open or len(fits) == 1):
                continue
            for state in listener.states:
                state.misdated = state.misdated or state.moment > now + 3_600_000
                state.excused = state.excused or state.misdated
            # A session does not know what was sent to one of its activities alone.
            newest = max((state.moment for state in listener.states if (state.of_session or not of_session) and not state.misdated), default=moment)
            listener.states.append(State(
                number, step["event"], max(moment, newest) if step.get("at") is None else moment, group, now, expires, bool(step.get("alert")),
                answer == "held" and len(fits) == 1, late, of_session, undated=step.get("at") is None))
        return right

    def judge(self, step, answer, fits, able, outdated, now):
        """What the answer's `state` should have been."""
        if able and len(outdated) == len(able) and answer != "outdated":
            self.complaint = f"{answer}, but a state with a later timestamp is known"
        elif not outdated and able and answer == "outdated":
            self.complaint = "outdated, but no state with a later timestamp is known"
        elif step["event"] != "update" and answer != "queued":
            self.complaint = f"{answer}, but only updates wait"
        elif len(fits) == 1 and able and answer == "queued" and step["event"] == "update" and any(
                shown.event == "update" and shown.answered and shown.moment is not None and 0 <= now - shown.moment < PERIOD
                for shown in able[0].shown):
            self.complaint = "queued, but an update went out within the last 15 seconds"
        elif len(fits) == 1 and able and answer == "held" and not self.is_set_back and not able[0].updates():
            self.complaint = "held, but there was no update before it"
