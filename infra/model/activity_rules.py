"""What the model checks of each push to a Live Activity, and of all of them when everything has settled."""

from activities import NAME_OF, PERIOD, TYPE, Shown, State
from rules import RightPerson, Twice, Violation


class ActivityOrder(Violation):
    """9. A Live Activity was shown an older state after a newer one, or an `aps.timestamp` that does not grow."""
    name = "activity-order"


class ActivityEnd(Violation):
    """9. Something came after the end, or the end never came."""
    name = "activity-end"


class ActivityRate(Violation):
    """9. Two updates within 15 seconds."""
    name = "activity-rate"


class ActivityLost(Violation):
    """9. The newest state, or its alert, never came."""
    name = "activity-lost"


class ActivityAnswer(Violation):
    """9. A call was answered otherwise than documented."""
    name = "activity-answer"


ALL = [ActivityOrder, ActivityEnd, ActivityRate, ActivityLost, ActivityAnswer]


def described(push):
    return f"push {push.number} to activity {NAME_OF.get(push.token, '?')} ({push.answer}, apns-id {push.id[:8]}, {push.payload['aps']})"


def shown_by(push, now):
    aps = push.payload["aps"]
    alert = aps.get("alert")
    return Shown(push.id, push.token, aps["event"], aps.get("content-state", {}).get("n"), int(alert["body"].split()[1]) if alert else None,
                 aps["timestamp"], now, push.answered)


def state_of(listener, shown):
    """The newest accepted call that a push may be, or None."""
    fitting = [state for state in listener.states if state.event == shown.event and state.number in (shown.number, None)]
    return max(fitting, key=lambda state: (state.number is not None, state.moment, state.group), default=None)


def update_of(listener, number):
    return max((state for state in listener.updates() if state.number == number), key=lambda s: (s.moment, s.group), default=None)


def check(world, push, unsettled=frozenset()):
    """Checks one push as it came to the gateway, before its effects."""
    book = world.activities
    listener = book.holder(NAME_OF[push.token])
    if listener is None:
        raise RightPerson(f"{described(push)}: nobody has this token")
    shown = shown_by(push, world.now)
    if any(before.id == shown.id and before.answered for before in listener.shown):
        raise Twice(f"{described(push)}: it was taken and answered before")
    for before in listener.shown:
        if before.event == "end" and before.id != shown.id and (before.answered or shown.event != "end"):
            raise ActivityEnd(f"{described(push)}: comes after the activity's end, {before.id[:8]}")
    state = state_of(listener, shown)
    if shown.event == "start":
        return check_start(book, listener, push, shown, state)
    if state is None:
        state = unsettled_state(book, listener, shown.number, shown.event)
    if state is None and not listener.doubtful:
        step, _ = book.calls.get(shown.number, (None, None))
        if step is not None and listener.fits(step) and listener.is_known_later_than(step["moment"], world.now):
            raise ActivityOrder(f"{described(push)}: state {shown.number} was outdated when it came")
        raise RightPerson(f"{described(push)}: state {shown.number} was not accepted for this listener, {listener}")
    check_order(listener, push, shown, state)
    check_rate(listener, push, shown, world.now)
    if state is not None:
        check_alert(book, listener, push, shown, state)


def check_start(book, listener, push, shown, state):
    # Who leaves and comes back with the same token may get what was meant for it before.
    is_back = (listener.user, listener.token) in book.left
    if state is None and unsettled_state(book, listener, shown.number, shown.event) is None and not listener.doubtful and not is_back:
        raise RightPerson(f"{described(push)}: start {shown.number} was not asked for here")
    aps = push.payload["aps"]
    if (aps.get("attributes-type"), aps.get("attributes"), shown.alert) != (TYPE, {"n": shown.number}, shown.number):
        raise ActivityLost(f"{described(push)}: not the type, attributes and alert of start {shown.number}")
    if shown.number not in book.repeated and any(before.number == shown.number and before.answered for before in listener.shown):
        raise Twice(f"{described(push)}: start {shown.number} came before")


def unsettled_state(book, listener, number, event):
    """A call at the same time as the listener's registration may count for it or not."""
    step, group = book.calls.get(number, (None, None))
    if step is not None and group == listener.group and listener.fits(step):
        return State(number, event, step["moment"], group, 0, 0, bool(step.get("alert")))
    return None


def check_order(listener, push, shown, state):
    for before in listener.shown:
        # The `apns-id` of a repeated push is another one where the token was replaced.
        same = (before.id == shown.id or before.token != shown.token) and (before.number, before.event) == (shown.number, shown.event)
        if shown.timestamp < before.timestamp or shown.timestamp == before.timestamp and not same:
            raise ActivityOrder(f"{described(push)}: aps.timestamp {shown.timestamp} after {before.timestamp}")
        if state is None or before.number == shown.number:
            continue
        earlier = update_of(listener, before.number)
        # An end brings its own state, or the newest one, whichever is newer.
        own = update_of(listener, shown.number) if shown.event == "end" else None
        own = own or (state if state.number is not None else None)
        if earlier is not None and own is not None and earlier.is_newer_than(own) and not earlier.misdated and not (
                shown.event == "end" and state.number == shown.number):
            raise ActivityOrder(f"{described(push)}: state {shown.number} comes after the newer state {before.number}")


def check_rate(listener, push, shown, now):
    if shown.event != "update":
        return
    for before in listener.shown:
        state = update_of(listener, before.number)
        if before.alert is not None and state is not None and state.of_session:
            continue
        if (before.event == "update" and before.answered and before.moment is not None and before.id != shown.id
                and 0 <= now - before.moment < PERIOD):
            raise ActivityRate(f"{described(push)}: {now - before.moment} ms after {before.id[:8]}")


def check_alert(book, listener, push, shown, state):
    if shown.alert is None:
        if state.alert:
            raise ActivityLost(f"{described(push)}: without the alert of state {state.number}")
        if shown.event == "update" and not listener.doubtful:
            for other in listener.updates():
                # One whose answer was lost may have arrived.
                is_left = other.held and other.number not in listener.unanswered
                if (other.alert and (is_left or must_follow(listener, state, other)) and not other.excused and state.is_newer_than(other)
                        and not any(mine.alert and mine.is_newer_than(other) and state.is_newer_than(mine) for mine in listener.states)
                        and not any(before.alert == other.number for before in listener.shown)
                        and not any(is_newer_shown(listener, before, other) for before in listener.shown)):
                    raise ActivityLost(f"{described(push)}: without the alert of state {other.number}, which was held or put off")
        return
    if state.alert and state.number == shown.alert:
        return
    other = update_of(listener, shown.alert) or unsettled_state(book, listener, shown.alert, "update")
    if state.alert or other is None or not other.alert or other.is_newer_than(state) and not other.misdated:
        raise ActivityOrder(f"{described(push)}: the alert {shown.alert} is not of this state or of one before it")
    for before in listener.shown:
        if before.alert == shown.alert and before.answered and before.id != shown.id:
            raise Twice(f"{described(push)}: the alert {shown.alert} came before, as {before.id[:8]}")


def must_follow(listener, state, other):
    """Whether a session's alert that was put off must come with a later state of the session: nothing was sent to the
    activity alone since. (An alert that another update took over while it was held expires with that one, and so does an older
    one in whose place it came.)"""
    return (state.of_session and other.of_session and other.number in listener.tried - listener.unanswered
            and not any(mine.group >= other.group and not mine.of_session for mine in listener.states))


def is_newer_shown(listener, before, state):
    """Whether something shown has already taken the place of a state."""
    other = update_of(listener, before.number)
    # Which of two calls at the same time came first is open: either may have taken the other's place.
    return other is not None and (other.is_newer_than(state) or other.group == state.group and other is not state)


def record(world, push):
    listener = world.activities.holder(NAME_OF[push.token])
    if listener is None:
        former = world.activities.former_holder(NAME_OF[push.token], world.group)
        if former is not None and push.taken:
            former.shown.append(shown_by(push, world.now))
        return
    if push.answer in ("410", "bad"):
        listener.doubtful = True
        listener.is_gone = push.answer == "410"
    shown = shown_by(push, world.now)
    if shown.alert is not None and shown.alert == shown.number:
        listener.tried.add(shown.alert)
    if shown.alert is not None and not push.answered:
        listener.unanswered.add(shown.alert)
    if push.taken:
        listener.token, listener.others = NAME_OF[push.token], set()
        listener.shown.append(shown_by(push, world.now))


def check_settled(world):
    """At the end each listener has been shown its end, or its newest state."""
    for listener in world.activities.listeners:
        if listener.doubtful:
            continue
        if listener.starts:
            for state in listener.states:
                if not state.excused and not any(before.number == state.number for before in listener.shown):
                    yield ActivityLost(f"{listener.user}'s {listener.token} never got start {state.number}")
            continue
        ends = [state for state in listener.states if state.event == "end"]
        if ends:
            if not all(state.excused for state in ends) and not any(before.event == "end" for before in listener.shown):
                yield ActivityEnd(f"{listener.user}'s {listener.token} was never ended: {listener}")
            continue
        updates = listener.updates()
        if not updates:
            continue
        newest = max(updates, key=lambda state: (state.moment, state.group))
        wanted = [state for state in updates if not state.excused]
        seen = [update_of(listener, before.number) for before in listener.shown if before.event == "update"]
        if newest.excused or any(state is not None and not any(other.is_newer_than(state) for other in wanted) for state in seen):
            continue
        yield ActivityLost(f"{listener.user}'s {listener.token} never got state {newest.number}: {listener}")
