"""The model: the owner of each phone, the users' preferences, the waiting games, and the pushes on each phone.

Written from the documents alone. Every operation takes the step as the history has it; moments are milliseconds.
"""

import copy
import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from activities import Activities

START = 1_795_262_400_000  # 2026-11-21T12:00:00Z
ZONES = ("Africa/Casablanca", "America/Los_Angeles", "America/New_York", "America/Santiago", "Asia/Kathmandu", "Asia/Tokyo",
         "Australia/Lord_Howe", "Australia/Sydney", "Europe/Berlin", "Europe/London", "Pacific/Chatham")
DAY = 86_400_000
PLAYERS = ("101", "102")
USERS = (*PLAYERS, "ann")
GAMES = {1011: "101", 1012: "101", 1021: "102", 1022: "102"}
PHONES = {name: (f"{index:02x}" + "c0ffee" * 11)[:64] for index, name in enumerate("abcd", start=0xa0)}
PHONE_OF = {token: name for name, token in PHONES.items()}


@dataclass
class Device:
    """An app on a phone, as one user has registered it. `slot` stays when its token is replaced."""

    slot: int
    phone: str
    name: str  # the phone of its first token, or "another": listings and reports know it by this
    doubtful: bool = False  # the gateway refused it: whether it is pushed to is not checked
    twins: set = field(default_factory=set)  # the names of devices that became one with it: listings may know it by any of them
    former: set = field(default_factory=set)  # phones that it had before

    @property
    def names(self):
        return {self.name} | self.twins


@dataclass
class Preferences:
    off: frozenset = frozenset()
    muted_until: int = 0
    quiet: tuple | None = None  # minutes of the day, as clocks in the zone show them
    zone: str = "Etc/UTC"

    def is_quiet(self, now):
        if now < self.muted_until:
            return True
        if self.quiet is None:
            return False
        start, end = self.quiet
        minute = local_minute(now, self.zone)
        return start <= minute < end if start <= end else minute >= start or minute < end


def local_minute(now, zone):
    """The minute of the day that clocks in a zone show."""
    moment = datetime.fromtimestamp(now // 1000, ZoneInfo(zone))
    return moment.hour * 60 + moment.minute


def daylight_changes(zone):
    """The hours of 2026 and 2027 at whose ends clocks in a zone are put forward or back."""
    first = 1_767_225_600  # 2026-01-01T00:00:00Z
    offsets = [datetime.fromtimestamp(first + hour * 3600, ZoneInfo(zone)).utcoffset() for hour in range(2 * 365 * 24)]
    return [(first + hour * 3600) * 1000 for hour in range(len(offsets) - 1) if offsets[hour] != offsets[hour + 1]]


@dataclass
class Message:
    """An accepted message. `targets` are (user, slot) at acceptance."""

    name: str
    id: str
    users: tuple
    kind: str
    group: int  # messages of one group were accepted at once, in whichever order
    accepted: int  # by the clock then
    due: int | None  # not before, where its sender said so
    expires: int
    collapse_id: str | None = None
    urgent: bool = False
    silent: bool = False
    event: str | None = None
    request: str | None = None
    targets: list = field(default_factory=list)
    names: list = field(default_factory=list)  # of each target: (user, the name of the device)
    held: set = field(default_factory=set)  # users who wanted nothing when it was accepted, or since
    cancelled: str | None = None  # "wholly" or "perhaps"
    has_own_life: bool = False  # else it does not expire while it is held
    excuses: dict = field(default_factory=dict)  # (user, slot): why it need not arrive
    devices: int = 0  # as the answer said
    badge: int = 0  # what it adds to ann's badge
    phones: int = 0  # how many the users had when it was accepted
    begun: int = 0  # by the right clock, its receipts begin then or later
    is_broken: bool = False  # its file is damaged, and nobody has repaired it
    broken_for: set = field(default_factory=set)  # users whose held message is damaged, which cannot be repaired

    @property
    def is_damaged(self):
        return self.is_broken or bool(self.broken_for)

    def is_forgotten(self, now):
        """Whether its receipts, which are kept for 30 days, may be gone."""
        return now - min(self.begun, self.due or self.accepted) > 30 * 86_400_000


@dataclass(frozen=True)
class Turn:
    """A game at one moment, as a look sees it."""

    waits: bool
    phase: str
    moves: int
    last_move: int


@dataclass
class SentTurn:
    turn: Turn
    seen_not_waiting: bool = False
    in_doubt: bool = False  # the answer was lost
    may_repeat: bool = False  # quiet hours, a refusal or a new device have ended a notice in doubt: the next one may tell of it again

    def is_told_again_by(self, turn):
        """Whether `turn` is another one than the one that was told."""
        if (turn.phase, turn.moves) != (self.turn.phase, self.turn.moves) or self.may_repeat:
            return True
        return self.seen_not_waiting and turn.last_move > self.turn.last_move


@dataclass
class Delivery:
    """What a phone took. `message` is None for turn notices, badges and summaries."""

    number: int
    id: str
    message: str | None
    answered: bool
    is_refused: bool = False  # its answer was lost, and its repetition was refused: nobody knows that it came


class World:
    def __init__(self, start=START, zone="Etc/UTC"):
        self.now = start
        self.activities = Activities()
        self.zone = zone
        self.group = 0
        self.slots = 0
        self.aliases = {}
        self.shards = {1}  # how many queues each push service has had
        self.replaced = False  # whether a token has taken the place of another
        self.devices = {user: [] for user in USERS}
        self.preferences = {user: Preferences() for user in USERS}
        self.messages = {}
        self.games = {}
        self.looks = {}  # player: {game: Turn}
        self.watched = {}  # player: since when `check-turns` looks at them
        self.told = {player: {} for player in PLAYERS}  # by any phone
        self.told_at = {}  # (phone, player): {game: SentTurn}
        self.deaf_to_turns = {}  # (player, game): the turn came while the player wanted none
        self.delivered = {phone: [] for phone in PHONES}
        self.badges = {}  # phone: what its icon shows, and whose it was then
        self.corrections = []  # (moment, phone, apns-id, whose phone) of silent pushes of a badge
        self.tried = {}  # apns-id: since when such a push may have been due
        self.drained = start  # when a drainer last ended
        self.stirred = set()  # phones that the gateway refused

    def copy(self):
        return copy.deepcopy(self)

    ### Devices

    def holders(self, phone):
        """Users who have the phone."""
        return [user for user in USERS for device in self.devices[user] if device.phone == phone]

    def device(self, user, phone):
        return next((device for device in self.devices[user] if device.phone == phone), None)

    def is_on(self, device, phone):
        """Whether a device is on a phone. One id is one phone: that of a token that another user has still counts after it was replaced."""
        names = {name for user in USERS for other in self.devices[user] if other.phone == phone for name in other.names} - {"another"}
        return device.phone == phone or bool(device.names & names)

    def slot_of(self, slot):
        while slot in self.aliases:
            slot = self.aliases[slot]
        return slot

    def add(self, user, phone):
        device = self.device(user, phone)
        if device is None:
            self.slots += 1
            # The name of a token that went on to another phone is that phone's.
            is_taken = any(phone in other.names for other in self.devices[user])
            self.devices[user].append(Device(self.slots, phone, "another" if is_taken else phone))
            # All phones are told with the new one, also those that may have been told.
            for (_, player), book in self.told_at.items():
                for told in book.values():
                    told.may_repeat = told.may_repeat or told.in_doubt and player == user
        else:
            device.doubtful = False

    def drop(self, user, phone, why):
        device = self.device(user, phone)
        if device is not None:
            self.badges.pop(phone, None)
            self.devices[user].remove(device)
            self.excuse_slot(user, device.slot, why)

    def excuse_slot(self, user, slot, why):
        for message in self.messages.values():
            for target in message.targets:
                if target[0] == user and self.slot_of(target[1]) == slot:
                    message.excuses.setdefault(target, why)

    def misses(self, names):
        """How many messages are for another number of devices than was answered."""
        messages = [self.messages[name] for name in names if name in self.messages]
        return sum(message.devices != message.phones for message in messages)

    def excuse_open(self, name, others):
        """Whether a message was for a device is open if other orders of the same requests explain the answers, too."""
        message = self.messages.get(name)
        for target, device in zip(message.targets, message.names) if message else ():
            if any(device not in other.messages[name].names for other in others if name in other.messages):
                message.excuses.setdefault(target, "accepted at the same time")

    def excuse_claimed(self, phone, names):
        """A phone went to another user while messages were accepted: each of several users is looked up at a moment of its own."""
        for name in names:
            message = self.messages.get(name)
            for user, slot in message.targets if message and len(message.users) > 1 else ():
                device = next((device for device in self.devices[user] if device.slot == self.slot_of(slot)), None)
                if device is not None and device.phone == phone:
                    message.excuses.setdefault((user, slot), "claimed at the same time")

    def excuse_companions(self, user, device, phone):
        """A phone of several users gets a message once. It goes with the user whose token is replaced, to the same phone's new token."""
        for other in self.holders(phone):
            slot = self.device(other, phone).slot
            for message in self.messages.values() if other != user else ():
                both = {target[0] for target in message.targets
                        if target[0] == user and self.slot_of(target[1]) == device.slot}
                for target in message.targets if both else ():
                    if target[0] == other and self.slot_of(target[1]) == slot:
                        message.excuses.setdefault(target, "the phone has another token")

    def refuse(self, phone, why):
        """The gateway does not know the token: what is under way for it need not arrive."""
        self.stirred.add(phone)
        for (where, _), book in self.told_at.items():
            for told in book.values():
                told.may_repeat = told.may_repeat or told.in_doubt and where == phone
        for user in USERS:
            device = self.device(user, phone)
            if device is not None:
                device.doubtful = True
                self.excuse_slot(user, device.slot, why)

    def learn_names(self, listed):
        """Where two devices became one, takes the name that it is listed by."""
        for user in USERS:
            for device in self.devices[user]:
                if device.name not in listed[user] and device.twins & listed[user]:
                    names, device.name = device.names, min(device.twins & listed[user])
                    device.twins = names - {device.name}

    def listing(self):
        """The devices of each user that GET /api/devices must show."""
        return {user: {device.name for device in self.devices[user]} for user in USERS}

    ### Steps. Each answers with the statuses that are right for it.

    def register(self, step):
        user, phone = step["user"], step["phone"]
        self.watched.setdefault(user, self.now)
        self.activities.doubt_old(user, self.now)
        self.add(user, phone)
        return {200}

    def claim(self, step):
        user, phone, previous = step["user"], step["phone"], step.get("previous")
        if step["by"] == "push":
            self.activities.end_old(user, self.now)
        else:
            self.activities.doubt_old(user, self.now)
        for other in USERS:
            if other != user:
                self.drop(other, phone, "claimed by another")
        replaced = self.device(user, previous) if previous and previous != phone else None
        if replaced is not None:
            for delivery in self.delivered[previous]:
                message = self.messages.get(delivery.message)
                for target in message.targets if message else ():
                    if target[0] == user and self.slot_of(target[1]) == replaced.slot:
                        if delivery.answered:
                            message.excuses.setdefault(target, "arrived before")
            replaced.former.add(previous)
            twin = self.device(user, phone)
            if twin is not None:
                self.devices[user].remove(twin)
                replaced.twins |= twin.names
                self.aliases[twin.slot] = replaced.slot
                for message in self.messages.values():
                    both = [target for target in message.targets
                            if target[0] == user and self.slot_of(target[1]) == replaced.slot]
                    for target in both if len(both) > 1 else ():
                        message.excuses.setdefault(target, "two devices became one")
            self.excuse_companions(user, replaced, previous)
            replaced.phone, replaced.doubtful = phone, False
            if not self.holders(previous):
                # It is the same phone; its old token shows nothing any more.
                self.badges.pop(previous, None)
            self.replaced = True
        else:
            self.add(user, phone)
        return {200}

    def claim_partly(self, step, losers):
        """A crash in the midst of a claim: some of those who had the token have it no more, and the caller not yet."""
        for user in losers:
            self.drop(user, step["phone"], "claimed by half")

    def unregister(self, step):
        user, phone = step["user"], step["phone"]
        if self.device(user, phone) is None:
            return {403, 404}
        self.drop(user, phone, "unregistered")
        return {200}

    def set_preferences(self, step):
        user = step["user"]
        quiet = None
        if step.get("quiet"):
            start = local_minute(self.now, self.zone)
            quiet = ((start - 1) % 1440, (start + step["quiet"]) % 1440)
        muted_until = self.now + step["mute"] * 60_000 if step.get("mute") else 0
        self.preferences[user] = Preferences(frozenset(step.get("off", ())), muted_until, quiet, self.zone)
        self.observe_wishes()
        return {200}

    def set_clock(self, now):
        if now < self.now:
            # What was put off until some moment after this one is due at once.
            self.corrections, self.tried, self.drained = [], {}, now
            self.activities.set_back()
        self.now = now
        self.observe_wishes()

    def observe_wishes(self):
        """Records which messages and turns are not wanted now, or have expired: they need not arrive."""
        self.activities.observe(self.now)
        for message in self.messages.values():
            if self.now >= message.expires:
                for target in message.targets:
                    message.excuses.setdefault(target, "expired")
        for user in USERS:
            wishes = self.preferences[user]
            quiet = wishes.is_quiet(self.now)
            for (_, player), book in self.told_at.items():
                for told in book.values():
                    told.may_repeat = told.may_repeat or told.in_doubt and player == user and quiet
            for message in self.messages.values():
                if user not in message.users:
                    continue
                for target in message.targets:
                    if target[0] == user and message.kind in wishes.off:
                        message.excuses.setdefault(target, "kind off")
                if quiet and not message.urgent and not message.silent and self.is_open(message, user):
                    message.held.add(user)
        for game, player in GAMES.items():
            if "turn" in self.preferences[player].off and game in self.games:
                self.deaf_to_turns[(player, game)] = self.games[game]

    def note_drained(self):
        """A drainer has looked at all there is."""
        self.drained = self.now
        for message in self.messages.values():
            if message.has_own_life or message.urgent or message.silent or message.is_broken or message.due is not None and message.due > self.now:
                continue
            ends = [self.end_of_quiet(user) for user in message.users if self.is_open(message, user)]
            if self.now < message.expires:
                longest = (message.due or message.accepted) + 30 * DAY
                message.expires = max([message.expires] + [min(end + DAY // 2, longest) for end in ends if end > self.now])

    def end_of_quiet(self, user):
        """When a user who is quiet now is so no more, to the minute; the present for another one."""
        wishes, moment = self.preferences[user], self.now
        while wishes.is_quiet(moment):
            moment = wishes.muted_until if moment < wishes.muted_until else moment - moment % 60_000 + 60_000
        return moment

    def ends_of_holding(self):
        """When each user who is quiet now is so no more, and the minutes after the moments of what was held by a clock ahead of them."""
        later = [message.due + 60_000 for message in self.messages.values() if message.held and message.due]
        return [end for end in [*map(self.end_of_quiet, USERS), *later] if end > self.now]

    def is_open(self, message, user):
        """Whether a message may still have to reach a device of the user."""
        for who, slot in message.targets:
            device = next((d for d in self.devices[user] if d.slot == self.slot_of(slot)), None) if who == user else None
            # What may be superseded may be held as well, and so may what was refused to another user of the phone, and what was
            # unwanted, or had expired by a clock ahead, for a while if no drainer looked meanwhile.
            excuse = message.excuses.get((who, slot))
            if excuse == "expired" and self.now < message.expires:
                excuse = None
            if device is not None and excuse in (None, "superseded", "410", "bad", "kind off", "the phone has another token") and not any(
                    delivery.message == message.name and delivery.answered for delivery in self.delivered[device.phone]):
                return True
        return False

    def accept(self, message):
        message.group = self.group
        message.phones = len({device.phone for user in message.users for device in self.devices[user]})
        for user in message.users:
            for device in self.devices[user]:
                message.targets.append((user, device.slot))
                message.names.append((user, device.name))
                if device.doubtful:
                    message.excuses[(user, device.slot)] = "doubtful"
        if message.event == "approval_cleared":
            for other in self.messages.values():
                if other.request == message.request and other.event == "approval_request":
                    for target in other.targets:
                        if target[0] in message.users:
                            other.excuses.setdefault(target, "cleared")
        self.messages[message.name] = message
        # One that was wanted later may have come already, by a clock that was ahead, and count as newer.
        for target in message.targets:
            device = next(d for d in self.devices[target[0]] if d.slot == target[1])
            for delivery in self.delivered[device.phone]:
                other = self.messages.get(delivery.message)
                if message.collapse_id and other is not None and other is not message and (
                        other.collapse_id == message.collapse_id and not self.is_newer(message, other)):
                    message.excuses.setdefault(target, "superseded")
        self.observe_wishes()

    def is_newer(self, one, other):
        """Whether a message surely comes after another: the order of acceptance, whatever the clock showed.

        Only a moment that a sender asked for is compared with what the clock shows.
        """
        if one.group <= other.group:
            return False
        if one.due is None and other.due is None:
            return True
        return (one.due or one.accepted) >= (other.due or other.accepted)

    def share_queue(self, one, other, phone):
        """Whether two messages surely wait for a phone in one queue, within which the order is kept. A user's queue goes by the user's id."""
        def users(message):
            return tuple(user for user in message.users if any(
                target[0] == user and device.phone == phone and device.slot == self.slot_of(target[1])
                for target in message.targets for device in self.devices[user]))

        everybody = set(users(one) + users(other))
        return users(one) == users(other) or all(
            len({int(hashlib.sha256(user.encode()).hexdigest()[:8], 16) % count for user in everybody}) < 2 for count in self.shards)

    ### Damage

    def damage(self, name, box):
        """The file of a message, or of a turn notice, is damaged. `box` is the name of the box in which a message is held."""
        message = self.messages.get(name)
        if message is None:
            # What may have been told is told again, by another notice.
            for book in (*self.told.values(), *self.told_at.values()):
                for told in book.values():
                    told.may_repeat = told.may_repeat or told.in_doubt
        elif box is None:
            message.is_broken = True
        else:
            message.broken_for |= {user for user in message.users if box.startswith(hashlib.sha256(user.encode()).hexdigest()[:24])}

    ### Games

    def see_game(self, game, answer, waits):
        self.games[game] = Turn(waits, answer["phase"], answer["moves"], answer["last_move"])
        self.observe_wishes()

    def look(self, player):
        games = {game: turn for game, turn in self.games.items() if GAMES[game] == player}
        self.looks[player] = games
        books = [self.told[player]] + [book for (_, who), book in self.told_at.items() if who == player]
        for book in books:
            for game, told in book.items():
                if game not in games or not games[game].waits:
                    told.seen_not_waiting = True

    def waiting(self, player):
        return {game: turn for game, turn in self.looks.get(player, {}).items() if turn.waits}

    def untold(self, book, player):
        return {game for game, turn in self.waiting(player).items()
                if game not in book or book[game].is_told_again_by(turn)}
