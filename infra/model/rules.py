"""The checks of each push when it arrives, and of everything when no work is left."""

from programs import device_id
from world import GAMES, PHONE_OF, PHONES, PLAYERS, Delivery, SentTurn


class Violation(AssertionError):
    """Something that must not be."""

    name = "violation"


class RightPerson(Violation):
    """1. A push reached a phone for a user who does not have it."""
    name = "right-person"


class Wanted(Violation):
    """2. A push came that the user does not want now."""
    name = "wanted"


class Order(Violation):
    """3. An older push came after a newer one, or after its clear."""
    name = "order"


class TurnTruth(Violation):
    """4. A turn notice told of a game that does not wait, or of nothing."""
    name = "turn-truth"


class TurnUntold(Violation):
    """4. A turn was never told."""
    name = "turn-untold"


class TurnTwice(Violation):
    """4, 5. A turn was told twice without cause."""
    name = "turn-twice"


class Badge(Violation):
    """6. An icon shows a wrong number, or was corrected too often."""
    name = "badge"


class Twice(Violation):
    """7. A push came twice though the first one was answered, or under another apns-id."""
    name = "twice"


class Cancelled(Violation):
    """7. A cancelled push arrived."""
    name = "cancelled"


class Report(Violation):
    """7. A report differs from what the gateway saw."""
    name = "report"


class Lost(Violation):
    """7. A message never arrived, without a reason."""
    name = "lost"


class Settled(Violation):
    """8. Something is left over or damaged, or a program ended wrongly."""
    name = "settled"


class Registered(Violation):
    """The devices are not those that any order of the requests explains."""
    name = "registered"


# Those of Live Activities are in activity_rules.py.
ALL = [RightPerson, Wanted, Order, TurnTruth, TurnUntold, TurnTwice, Badge, Twice, Cancelled, Report, Lost, Settled, Registered]
QUARTER_HOUR = 15 * 60_000


def kind_of(push):
    """What a push is: `message`, `clear`, `turn`, `badge` or `summary` (of what was held)."""
    payload = push.payload
    if "game_id" in payload:
        return "turn"
    if "merged" in payload:
        return "summary"
    if "m" in payload or "requestId" in payload:
        return "message"
    if "clearApprovalId" in payload:
        return "clear"
    if set(payload) == {"aps"} and set(payload["aps"]) == {"badge"}:
        return "badge"
    return "summary"


def message_of(world, push):
    payload = push.payload
    if "m" in payload:
        return world.messages.get(payload["m"])
    if "requestId" in payload:
        return next((m for m in world.messages.values() if m.event == "approval_request" and m.request == payload["requestId"]), None)
    return next((m for m in world.messages.values()
                 if m.event == "approval_cleared" and m.request == payload.get("clearApprovalId")), None)


def messages_of(world, push):
    """The messages that a push names: of those that it brings together, the newest three."""
    if kind_of(push) != "summary":
        return [message for message in [message_of(world, push)] if message is not None]
    alert = push.payload["aps"].get("alert")
    lines = alert.get("body", "").split("\n") if isinstance(alert, dict) else []
    return [world.messages[line.removeprefix("Message ")] for line in lines if line.removeprefix("Message ") in world.messages]


def described(push):
    phone = PHONE_OF.get(push.token, "?")
    return f"push {push.number} to phone {phone} ({push.answer}, apns-id {push.id[:8]}, {push.payload})"


def check(world, push, unsettled=frozenset()):
    """Checks one push as it came to the gateway, before its effects."""
    phone = PHONE_OF.get(push.token)
    if phone is None:
        raise RightPerson(f"{described(push)}: nobody's phone")
    before = [delivery for delivery in world.delivered[phone] if delivery.id == push.id]
    if any(delivery.answered for delivery in before):
        raise Twice(f"{described(push)}: it was taken and answered before")
    match kind_of(push):
        case "message" | "clear":
            message = message_of(world, push)
            if message is None:
                raise Report(f"{described(push)}: of no message that was accepted")
            check_message(world, push, phone, message, repeated=bool(before))
        case "turn":
            check_turn(world, push, phone, repeated=bool(before))
        case "badge":
            check_badge(world, push, phone, repeated=bool(before))
        case "summary":
            check_summary(world, push, phone)
            for message in messages_of(world, push):
                check_message(world, push, phone, message, repeated=bool(before))


def check_message(world, push, phone, message, repeated):
    people = [user for user in message.users if user in world.holders(phone)]
    if not people:
        raise RightPerson(f"{described(push)}: {message.name} is for {', '.join(message.users)}, "
                          f"the phone belongs to {', '.join(world.holders(phone)) or 'nobody'}")
    slots = {(user, world.slot_of(slot)) for user, slot in message.targets}
    if not any((user, world.device(user, phone).slot) in slots or user in message.held for user in people) and not any(
            message.excuses.get(target) for target in message.targets):
        raise RightPerson(f"{described(push)}: {message.name} was not accepted for this device")
    for user in people:
        wishes = world.preferences[user]
        quiet = wishes.is_quiet(world.now) and not message.urgent and not message.silent
        if not quiet and (message.kind not in wishes.off or message.silent):
            break
    else:
        raise Wanted(f"{described(push)}: {message.name} of kind {message.kind}, at {world.now}, but {wishes}")
    if world.now >= message.expires + 1000:
        raise Wanted(f"{described(push)}: {message.name} expired at {message.expires}, now is {world.now}")
    if message.due is not None and world.now < message.due:
        raise Wanted(f"{described(push)}: {message.name} is not due before {message.due}, now is {world.now}")
    if message.cancelled == "wholly" and not repeated:
        raise Cancelled(f"{described(push)}: {message.name} was cancelled")
    for delivery in world.delivered[phone]:
        other = world.messages.get(delivery.message)
        if other is None:
            continue
        if other is message and delivery.id != push.id:
            raise Twice(f"{described(push)}: {message.name} came before, as {delivery.id[:8]}")
        if delivery.is_refused:
            continue
        if message.collapse_id and other.collapse_id == message.collapse_id and world.is_newer(
                other, message) and world.share_queue(other, message, phone):
            raise Order(f"{described(push)}: {message.name} comes after the newer {other.name}, collapse id {message.collapse_id}")
        if (message.event == "approval_request" and other.event == "approval_cleared"
                and other.request == message.request):
            raise Order(f"{described(push)}: the request {message.name} comes after its clear {other.name}")


def check_turn(world, push, phone, repeated):
    payload = push.payload
    game = payload["game_id"]
    player = GAMES.get(game)
    if player not in world.holders(phone):
        raise RightPerson(f"{described(push)}: a turn of {player}, the phone belongs to "
                          f"{', '.join(world.holders(phone)) or 'nobody'}")
    wishes = world.preferences[player]
    if "turn" in wishes.off or wishes.is_quiet(world.now):
        raise Wanted(f"{described(push)}: a turn, at {world.now}, but {wishes}")
    waiting = world.waiting(player)
    if game not in waiting:
        raise TurnTruth(f"{described(push)}: game {game} does not wait, by the newest look; waiting: {sorted(waiting)}")
    count = games_in(payload)
    if not 1 <= count <= len(waiting):
        raise TurnTruth(f"{described(push)}: tells of {count} games, {len(waiting)} wait: {sorted(waiting)}")
    check_number(world, push, phone, payload["aps"].get("badge"))
    if not repeated:
        book = world.told_at.get((phone, player), {})
        new = world.untold(book, player)
        if not new or (count == 1 and game not in new):
            raise TurnTwice(f"{described(push)}: this phone was told before; new to it: {sorted(new)}")


def games_in(payload):
    """How many games a notice tells of, by its words."""
    alert = payload["aps"].get("alert")
    body = alert if isinstance(alert, str) else alert.get("body", "")
    words = body.split("It's your turn in ")
    return int(words[1].split()[0]) if len(words) == 2 and words[1].split()[0].isdigit() else 1


def check_number(world, push, phone, number):
    """A turn's badge: all games that wait, of all players who share the phone."""
    people = world.holders(phone)
    if "ann" in people or any("turn" in world.preferences[user].off for user in people):
        return
    wanted = sum(len(world.waiting(player)) for player in people)
    # Whether a player counts whose device the gateway has refused is open.
    sure = sum(len(world.waiting(player)) for player in people if not world.device(player, phone).doubtful)
    if number is None or not sure <= number <= wanted:
        raise Badge(f"{described(push)}: shows {number}; of {', '.join(people)} {wanted} games wait")


def check_badge(world, push, phone, repeated):
    people = world.holders(phone)
    if not people:
        raise RightPerson(f"{described(push)}: the phone belongs to nobody")
    if "ann" in people:
        return
    check_number(world, push, phone, push.payload["aps"]["badge"])
    # A repeated one is the same correction.
    recent = {id: owners for moment, where, id, owners in world.corrections
              if where == phone and world.now - moment < QUARTER_HOUR and id != push.id}
    if len(recent) >= len(set(people).union(*recent.values())):
        raise Badge(f"{described(push)}: {len(recent)} corrections within a quarter of an hour before it")


def check_summary(world, push, phone):
    """What was held comes as one: it must be for somebody who has the phone and wants to hear now."""
    for user in world.holders(phone):
        held = [m for m in world.messages.values() if user in m.held and m.kind not in world.preferences[user].off]
        if not world.preferences[user].is_quiet(world.now) and 1 <= push.payload.get("merged", 1) <= len(held):
            return
    raise RightPerson(f"{described(push)}: nothing was held for {', '.join(world.holders(phone)) or 'nobody'}")


def record(world, push):
    """What a push changes: what the phone shows, and what its owner was told."""
    phone = PHONE_OF[push.token]
    if push.answer in ("410", "bad"):
        world.refuse(phone, push.answer)
        for delivery in world.delivered[phone]:
            delivery.is_refused = delivery.is_refused or delivery.id == push.id and not delivery.answered
    kind = kind_of(push)
    if kind == "badge":
        # One counts from when it may have been due: after the drainer before the one that tried it first.
        world.tried.setdefault(push.id, world.drained)
    messages = messages_of(world, push) if kind in ("message", "clear", "summary") else []
    # What got no answer may have been taken, and nothing older comes after it.
    for message in messages:
        if not message.collapse_id or not (push.taken or push.answer == "drop"):
            continue
        for other in world.messages.values():
            if other.collapse_id == message.collapse_id and not world.is_newer(other, message):
                for target in other.targets:
                    device = next((d for d in world.devices[target[0]] if d.slot == world.slot_of(target[1])), None)
                    if device is not None and world.is_on(device, phone) and other is not message:
                        other.excuses.setdefault(target, "superseded")
    if not push.taken:
        return
    for name in [message.name for message in messages] or [None]:
        world.delivered[phone].append(Delivery(push.number, push.id, name, push.answered))
    number = push.payload["aps"].get("badge")
    if number is not None:
        world.badges[phone] = (number, tuple(world.holders(phone)))
    if kind == "badge" and "ann" not in world.holders(phone):
        world.corrections.append((world.tried[push.id], phone, push.id, tuple(world.holders(phone))))
    if kind == "turn":
        player = GAMES[push.payload["game_id"]]
        for book in (world.told[player], world.told_at.setdefault((phone, player), {})):
            for game, turn in world.waiting(player).items():
                if games_in(push.payload) == 1 and game != push.payload["game_id"]:
                    continue
                if game in book and push.answered:
                    book[game].in_doubt = False
                if game in world.untold(book, player):
                    book[game] = SentTurn(turn, in_doubt=not push.answered)


### When everything has settled


def check_turns_told(world):
    for player in PLAYERS:
        if player not in world.watched or "turn" in world.preferences[player].off:
            continue
        if not any(not device.doubtful for device in world.devices[player]):
            continue
        games = {game: turn for game, turn in world.games.items() if GAMES[game] == player}
        if world.looks.get(player) != games:
            raise TurnUntold(f"nobody looked at {player}: the games are {games}, the newest look saw {world.looks.get(player)}")
        for game in sorted(world.untold(world.told[player], player)):
            if world.deaf_to_turns.get((player, game)) == world.games[game]:
                continue
            raise TurnUntold(f"game {game} waits for {player}, who was never told: {world.games[game]}")


def check_icons(world):
    for phone, (number, before) in world.badges.items():
        people = tuple(world.holders(phone))
        if "ann" in before + people or not people:
            continue
        if any("turn" in world.preferences[user].off or world.device(user, phone).doubtful for user in people):
            continue
        wanted = sum(len(world.waiting(player)) for player in people)
        # A number alone tells of no game that its player did not want to be told of.
        untold = sum(world.deaf_to_turns.get((player, game)) == turn
                     for player in people for game, turn in world.waiting(player).items())
        if number > wanted or number < wanted - untold:
            raise Badge(f"phone {phone} of {', '.join(people)} shows {number}, but {wanted} games wait")


def check_badge_of_messages(world, badge, reports):
    """Each message counts once in ann's badge if any of her devices got it."""
    sure = doubtful = 0
    for name, report in reports.items():
        lines = report["devices"]
        if any(line["state"] == "accepted" for line in lines):
            sure += world.messages[name].badge
        elif any(line.get("mayHaveArrived") for line in lines) or len(lines) < report["counts"].get("damaged", 0):
            # The damage may have taken the line of a device that may have got it.
            doubtful += world.messages[name].badge
    said = [(name, [(line["state"], line.get("reason"), line.get("mayHaveArrived")) for line in report["devices"]])
            for name, report in reports.items() if world.messages[name].badge]
    if not sure <= badge <= sure + doubtful:
        raise Badge(f"ann's badge is {badge}; accepted: {sure}, perhaps {doubtful} more: {said}")
    for phone, (number, before) in world.badges.items():
        if before == ("ann",) and world.holders(phone) == ["ann"] and number > badge:
            raise Badge(f"phone {phone} shows {number}, ann's badge is {badge}: {said}")


def check_report(world, message, report):
    """What GET /api/notify/ID says of a message, once nothing waits."""
    lines = report["devices"]
    states = [line["state"] for line in lines]
    said = f"{message.name}: the report says {report['state']} {report['counts']} {[(l['id'][:8], l['state'], l.get('reason')) for l in lines]}"
    ended = ("done", "cancelled", "damaged") if message.is_damaged else ("done", "cancelled")
    if report["state"] not in ended:
        raise Report(f"{said}, though nothing is left to send")
    if "damaged" in states and not message.is_damaged:
        raise Report(f"{said}, though nothing is damaged")
    if "waiting" in states:
        raise Report(f"{said}, though nothing is left to send")
    counted = {state: states.count(state) for state in set(states)}
    counts = {state: count for state, count in report["counts"].items() if count}
    if message.is_damaged and counts.get("damaged", 0) >= counted.get("damaged", 0):
        # A device whose line is lost is counted, and nothing names it.
        counted["damaged"] = counts.get("damaged", 0)
    if not message.held and {state: count for state, count in counted.items() if count} != counts:
        raise Report(f"{said}: counts and lines differ")
    for line in lines:
        if line["state"] == "superseded" and not line.get("reason"):
            raise Report(f"{said}: superseded without a reason")
    arrived = {phone: any(d.answered for d in deliveries if d.message == message.name)
               for phone, deliveries in world.delivered.items() if any(d.message == message.name for d in deliveries)}
    accepted = states.count("accepted")
    # Receipts are kept for 30 days. Devices whose receipts are gone are left out of the report.
    forgotten = message.is_forgotten(world.now)
    sure = 0 if forgotten else sum(arrived.values())
    if message.held:
        # What was held comes as one push with others.
        if accepted < sure:
            raise Report(f"{said}, but it was accepted for {', '.join(arrived)}")
    elif not sure <= accepted <= len(arrived):
        raise Report(f"{said}, but the gateway accepted it for {', '.join(p for p in arrived if arrived[p]) or 'nobody'}")
    if not message.held and not world.replaced:
        ids = {line["id"] for line in lines if line["state"] == "accepted"}
        listed = {line["id"] for line in lines}
        for phone in arrived:
            name = device_id(PHONES[phone])
            if arrived[phone] and name in listed and name not in ids:
                raise Report(f"{said}, but the gateway accepted it for phone {phone} ({name[:8]})")
    # A message to a device that has it, wants it and takes pushes arrives.
    missing = []
    for target in message.targets:
        user, slot = target
        if target in message.excuses or message.cancelled or message.is_broken or user in message.broken_for:
            continue
        device = next((d for d in world.devices[user] if d.slot == world.slot_of(slot)), None)
        if device is None:
            continue
        # It arrived at the former token, perhaps while that was replaced, or a drainer was killed with the answer recorded.
        ids = {device_id(PHONES[name]) for name in device.names if name in PHONES}
        if device.former.intersection(arrived) and any(line["id"] in ids and line["state"] == "accepted" for line in lines):
            continue
        if device.phone not in arrived and not (user in message.held and (accepted or forgotten)):
            missing.append(f"{user}'s phone {device.phone}")
    if missing:
        raise Lost(f"{said}, but nothing keeps it from {', '.join(missing)}")
