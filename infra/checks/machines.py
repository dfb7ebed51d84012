"""Two machines that share a state folder. infra/checks/machines starts it, with the programs and juicefs."""

import concurrent.futures
import contextlib
import glob
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from ground import Ground, check, token

PROGRAMS, JUICEFS = sys.argv[1:3]
IS_LONG = "--long" in sys.argv
# Two mounts of another file system, which must be refused.
MOUNTS = sys.argv[sys.argv.index("--refused") + 1:][:2] if "--refused" in sys.argv else []
# A word in the names of those to be tried.
ONLY = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else ""
PLAYERS = 1000 if IS_LONG else 60
NOTIFIES = 1000 if IS_LONG else 60
WATCHED, MOVES = (200, 10) if IS_LONG else (30, 4)
# How often a drainer's machine fails, in each of three ways.
INCIDENTS = int(sys.argv[sys.argv.index("--incidents") + 1]) if "--incidents" in sys.argv else 20 if IS_LONG else 1
KILLS = 60 if IS_LONG else 20
# How many pushes may be in flight.
STREAMS = 5


def both(pool, work, items):
    """Does work(host, item) on both machines at once for each item; the results by item."""
    futures = [(item, pool.submit(work, host, item)) for item in items for host in random.sample([0, 1], 2)]
    results = {}
    for item, future in futures:
        results.setdefault(item, []).append(future.result())
    return results


def players_at_once(ground, pool):
    players = list(range(1001, 1001 + PLAYERS))
    list(pool.map(ground.key, players))
    for player in players:
        ground.simulator.do(do="player", player=player)
    start = time.monotonic()
    results = both(pool, lambda host, player: ground.register(host, player, token(player, host)), players)
    taken = time.monotonic() - start
    statuses = [status for answers in results.values() for status, _, _ in answers]
    claim = f"{ground.name}: {PLAYERS} new players, each registered from both hosts at once"
    bad = [answer for answers in results.values() for answer in answers if answer[0] != 200]
    check(f"{claim}: all answered 200, {len(statuses) / taken:.0f} a second", not bad, bad[:3])
    unlisted = set(players) - ground.watched()
    check(f"{claim}: none without a record", not unlisted, sorted(unlisted)[:5])
    lost = []
    for player in players:
        path = glob.glob(f"{ground.folders[1]}/users/??/{player}.json")
        tokens = {d["token"] for d in json.load(open(path[0]))["devices"]} if path else set()
        if tokens != {token(player, 0), token(player, 1)}:
            lost.append(player)
    check(f"{claim}: no device lost", not lost, lost[:5])
    before = ground.looks()
    for _ in range(2):
        ground.advance(31)
        for process in [ground.start(host, "check-turns") for host in (0, 1, 0, 1)]:
            process.communicate(timeout=300)
    after = ground.looks()
    looks = [after.get(str(p), 0) - before.get(str(p), 0) for p in players]
    check(f"{claim}: none unwatched", min(looks) >= 1, f"{looks.count(0)} were not looked at")
    check(f"{claim}: looks at most 1.02 of those due", sum(looks) <= 1.02 * 2 * PLAYERS, f"{sum(looks)} of {2 * PLAYERS}")


def notifies(ground, pool):
    player = 1001
    status, body, err = ground.register(0, player, token(player, 0))
    assert status == 200, (status, body, err)
    before = len(ground.pushes())

    def notify(host, number):
        return ground.request(
            host, "notify", "POST", "/api/notify",
            {"users": [str(player)], "title": f"m{number}", "idempotency_key": f"k{number}"},
            ground.server)

    results = both(pool, notify, list(range(NOTIFIES)))
    claim = f"{ground.name}: {NOTIFIES} notifies, each with the same key from both hosts"
    bad = [answer for answers in results.values() for answer in answers if answer[0] not in (200, 202)]
    check(f"{claim}: all accepted", not bad, bad[:3])
    ids = [{body.get("id") for _, body, _ in answers if isinstance(body, dict)} for answers in results.values()]
    check(f"{claim}: one message each", all(len(one) == 1 for one in ids), [one for one in ids if len(one) != 1][:3])
    for _ in range(3):
        for process in [ground.start(host, "deliver") for host in (0, 1)]:
            process.communicate(timeout=300)
    titles = {}
    for push in ground.pushes()[before:]:
        alert = push["payload"]["aps"].get("alert")
        if isinstance(alert, dict):
            # A message goes to each of the user's devices.
            place = (push["token"], alert.get("title"))
            titles[place] = titles.get(place, 0) + 1
    devices = {place[0] for place in titles}
    wanted = {(device, f"m{number}") for device in devices for number in range(NOTIFIES)}
    check(f"{claim}: none lost", devices and wanted <= set(titles), sorted(wanted - set(titles))[:5])
    doubled = [place for place, count in titles.items() if count > 1]
    check(f"{claim}: none doubled", not doubled, doubled[:5])


def moves(ground, pool):
    players = list(range(5001, 5001 + WATCHED))
    list(pool.map(ground.key, players))
    for player in players:
        ground.simulator.do(do="game", game=player, black=player, white=player + 100_000)
    results = both(pool, lambda host, player: ground.register(host, player, token(player)), players)
    bad = [answer for answers in results.values() for answer in answers if answer[0] != 200]
    assert not bad, bad[:3]
    ground.advance(31)
    ground.look_and_deliver()
    start, looked = len(ground.pushes()), ground.looks()
    codes, failed, late = [], 0, 0
    for _ in range(MOVES):
        for player in players:
            ground.simulator.do(do="move", player=player)
        ground.advance(31)
        for program in ("check-turns", "deliver"):
            processes = [ground.start(host, program) for _ in range(4) for host in (0, 1)]
            for process in processes:
                out, err = process.communicate(timeout=300)
                if process.returncode != 0:
                    codes.append((program, process.returncode, err.decode()[-300:]))
                elif program == "check-turns":
                    failed += json.loads(out or b"{}").get("failed", 0)
            # A cycle looks for 30 s. What it leaves is looked at before the next move, and counted.
            while program == "check-turns" and late < 5 * MOVES:
                code, answer, err = ground.run(1, program)
                if code != 0:
                    codes.append((program, code, err[-300:]))
                failed += answer.get("failed", 0)
                if code != 0 or answer.get("due", 0) == 0:
                    break
                late += 1
    # What a cycle that found the lock held has left.
    ground.look_and_deliver()
    claim = f"{ground.name}: check-turns four times on both hosts, {WATCHED} players, {MOVES} moves"
    told = {}
    for push in ground.pushes()[start:]:
        if "alert" in push["payload"]["aps"] and push["token"] in {token(p) for p in players}:
            told[push["token"]] = told.get(push["token"], 0) + 1
    wrong = {place: count for place, count in told.items() if count != MOVES}
    check(f"{claim}: every program ends with 0", not codes, codes[:3])
    check(f"{claim}: {WATCHED * MOVES} notices, never two", len(told) == WATCHED and not wrong,
          f"{sum(told.values())} to {len(told)} players; {len(wrong)} with another number; {failed} looks have failed")
    check(f"{claim}: no cycle comes to its time limit", late == 0, f"{late} cycles more were needed")
    after = ground.looks()
    looks = sum(after.get(str(p), 0) - looked.get(str(p), 0) for p in players)
    check(f"{claim}: looks at most 1.02 of those due", looks <= 1.02 * WATCHED * MOVES, f"{looks} of {WATCHED * MOVES}")


def kills(ground, pool):
    """Registrations on both hosts, with programs killed at random moments on the way. Who was answered is looked
    at in the next cycle, whatever was killed, and has no device less than was answered."""
    seed = int(os.environ.get("TURNSTONE_SEED", random.randrange(1 << 30)))
    chance = random.Random(seed)
    players = list(range(8001, 8011))
    for player in players:
        ground.key(player)
        ground.simulator.do(do="player", player=player)
    answered = {player: set() for player in players}
    claim = f"{ground.name}: {KILLS} rounds of registrations and removals with kills on both hosts (seed {seed})"
    unwatched, lost = [], []
    longest = 0.05
    for turn in range(KILLS):
        processes = []
        for player in chance.sample(players, 4):
            for host in (0, 1):
                one = token(player, chance.randrange(3))
                if chance.random() < 0.25:
                    event = {"method": "DELETE", "path": f"/register/{one}", "headers": {"X-API-Key": ground.keys[player]}}
                    kind = "removal"
                else:
                    event = {"method": "POST", "path": "/register", "headers": {"X-API-Key": ground.keys[player]},
                             "body": {"user_id": str(player), "device_token": one}}
                    kind = "registration"
                processes.append((kind, player, one, ground.start(host, "register", event)))
        cycles = [ground.start(host, "check-turns") for host in (0, 1)]
        began = time.monotonic()
        for _, _, _, process in processes:
            if chance.random() < 0.5:
                time.sleep(chance.random() * longest / 4)
                process.kill()
        chance.choice(cycles).kill()
        touched = {}
        for kind, player, one, process in processes:
            out, _ = process.communicate(timeout=120)
            is_answered = b'"statusCode":200' in out
            # Two requests about one token at once: either may have been the last one.
            touched.setdefault((player, one), []).append((kind, is_answered))
        longest = max(longest, min(2, time.monotonic() - began))
        for process in cycles:
            process.communicate(timeout=300)
        for (player, one), done in touched.items():
            if all(kind == "registration" for kind, _ in done) and any(is_answered for _, is_answered in done):
                answered[player].add(one)
            elif any(kind == "removal" for kind, _ in done):
                answered[player].discard(one)
        ground.advance(31)
        before = ground.looks()
        ground.look_and_deliver(deliver=False)
        after = ground.looks()
        for player in players:
            path = glob.glob(f"{ground.folders[0]}/users/??/{player}.json")
            tokens = {d["token"] for d in json.load(open(path[0]))["devices"]} if path else set()
            if not answered[player] <= tokens:
                lost.append((turn, player))
            if tokens and after.get(str(player), 0) == before.get(str(player), 0):
                unwatched.append((turn, player))
            if tokens and player not in ground.watched():
                unwatched.append((turn, player, "no record"))
    check(f"{claim}: no device lost", not lost, lost[:5])
    check(f"{claim}: nobody with a device is ever unwatched", not unwatched, unwatched[:5])


def thaw(ground, pool):
    """A cycle that stands still while another host takes over its slot, and thaws."""
    players = list(range(9001, 9006))
    for player in players:
        ground.key(player)
        ground.simulator.do(do="game", game=player, black=player, white=player + 100_000)
        assert ground.register(0, player, token(player))[0] == 200
    ground.advance(31)
    ground.look_and_deliver()
    claim = f"{ground.name}: a cycle that is stopped in the middle, and goes on"
    start = len(ground.pushes())
    for player in players:
        ground.simulator.do(do="move", player=player)
        ground.simulator.do(do="ogs-fault", kind="delay", ms=700, player=player)
    ground.advance(31)
    cycle = ground.start(0, "check-turns")
    time.sleep(0.4)
    os.kill(cycle.pid, signal.SIGSTOP)
    other = ground.run(1, "check-turns")
    os.kill(cycle.pid, signal.SIGCONT)
    cycle.communicate(timeout=120)
    ground.simulator.do(do="clear")
    ground.advance(31)
    ground.look_and_deliver()
    told = [p["token"] for p in ground.pushes()[start:] if "alert" in p["payload"]["aps"]]
    check(f"{claim}: the other host's cycle ends with 0", other[0] == 0, other)
    check(f"{claim}: each turn told once", sorted(told) == sorted(token(p) for p in players), told)


def taken_over(name, volume, states, folder):
    """The drainer is killed, or its mount's client is, or both stand still for longer than the mount keeps locks and then go
    on. Meanwhile the other machine takes over."""
    ground = Ground(PROGRAMS, f"{name}, take-over", states, folder)
    try:
        players, messages = list(range(1, 51)), 7
        for player in players:
            ground.key(player)
            assert ground.register(0, player, token(player))[0] == 200
        for turn in range(INCIDENTS):
            for kind, incident in (("killed", "a drainer that is killed"),
                                   ("cut off", "a drainer whose mount's client is killed"),
                                   ("frozen", "a drainer that is frozen with its mount, and goes on")):
                claim = f"{name}, two mounts, {turn + 1} of {INCIDENTS}: {incident}"
                titles = [f"{turn} {kind} {number}" for number in range(messages)]
                incident_at_drainer(claim, kind, ground, volume, states, players, titles)
    finally:
        ground.end()


def incident_at_drainer(claim, kind, ground, volume, states, players, titles):
    start = len(ground.pushes())
    for title in titles:
        body = {"users": [str(p) for p in players], "title": title, "idempotency_key": title}
        assert ground.request(1, "notify", "POST", "/api/notify", body, ground.server)[0] == 202
    wanted = {(token(player), title) for player in players for title in titles}

    def arrived():
        return [(push["token"], push["payload"]["aps"]["alert"]["title"]) for push in ground.pushes()[start:]]

    def receipts():
        lines = []
        for path in glob.glob(f"{states[1]}/receipts/*.jsonl"):
            lines += [json.loads(line) for line in open(path)]
        return {(line["id"], line["n"]) for line in lines if line.get("outcome") == "accepted" and "n" in line}, lines

    known, _ = receipts()
    ground.simulator.do(do="settings", streams=STREAMS)
    ground.simulator.do(do="apns-fault", kind="delay", ms=400)
    drainer = ground.start(0, "deliver")
    client = volume.clients[0]
    try:
        while not arrived() and drainer.poll() is None:
            time.sleep(0.01)
        if kind == "frozen":
            drainer.send_signal(signal.SIGSTOP)
            os.killpg(client.pid, signal.SIGSTOP)
        elif kind == "cut off":
            os.killpg(client.pid, signal.SIGKILL)
        else:
            drainer.kill()
        before, began = len(arrived()), time.monotonic()
        check(f"{claim}: it was at work", 0 < before < len(wanted), before)
        ground.simulator.do(do="clear")
        while set(arrived()) != wanted and time.monotonic() - began < 150:
            ground.run(1, "deliver")
            time.sleep(1)
        taken = time.monotonic() - began
        if kind == "frozen":
            # The other machine may have had its turn before the locks were given up.
            time.sleep(max(0, 65 - taken))
    finally:
        if kind == "frozen":
            os.killpg(client.pid, signal.SIGCONT)
            drainer.send_signal(signal.SIGCONT)
    try:
        _, err = drainer.communicate(timeout=150)
    finally:
        drainer.kill()
    if kind == "cut off":
        volume.remount(0)
    for host in (0, 1):
        ground.run(host, "deliver")
    pushes, (told, lines) = arrived(), receipts()
    told -= known
    repeats = len(pushes) - len(set(pushes))
    print(f"# {claim}: {before} of {len(wanted)} had arrived; after {taken:.0f} s all had; {repeats} twice; "
          f"exit code {drainer.returncode}, {err.decode(errors='replace').strip().splitlines()[-1:]}", flush=True)
    check(f"{claim}: nothing is lost", set(pushes) == wanted, f"{len(wanted - set(pushes))} lost")
    check(f"{claim}: no more repeats than pushes in flight", repeats <= STREAMS, (repeats, STREAMS))
    accepted = [(line["id"], line["n"]) for line in lines if line.get("outcome") == "accepted" and "n" in line]
    check(f"{claim}: each device has its outcome once", len(accepted) == len(set(accepted)) and len(told) == len(wanted),
          (len(accepted), len(set(accepted)), len(told)))
    check(f"{claim}: the other machine took over within 90 s", taken < 90, f"{taken:.0f} s")


def clock(name, restart, state, folder):
    """The file system's clock is 10 minutes off, and right again."""
    ground = Ground(PROGRAMS, f"{name}, clock", [state, state], folder)
    try:
        ground.key(10001)
        assert ground.register(0, 10001, token(10001))[0] == 200
        for offset, word in (("+10m", "ahead of"), ("-10m", "behind")):
            restart(offset)
            time.sleep(3)  # the mount finds the server again
            claim = f"{name}, whose clock is 10 minutes {word} this machine's"
            status, body, err = ground.request(
                0, "register", "POST", "/register", {"user_id": "10001", "device_token": token(10001, 1)},
                {"X-API-Key": ground.keys[10001]}, patience=1)
            check(f"{claim}: register is refused with a sentence", status == 503 and f"{word} this machine's. Set both by NTP" in err,
                  (status, body, err))
            code, _, err = ground.run(0, "check-turns")
            check(f"{claim}: so is check-turns", code == 100 and f"{word} this machine's. Set both by NTP" in err, (code, err))
        restart("+0")
        time.sleep(3)
        status, body, err = ground.register(0, 10001, token(10001, 2))
        devices = {d["token"] for d in json.load(open(glob.glob(f"{state}/users/??/10001.json")[0]))["devices"]}
        check(f"{name}: with the right clock it works again, and nothing was lost or written meanwhile",
              status == 200 and devices == {token(10001), token(10001, 2)}, (status, err, devices))
    finally:
        ground.end()


def documents(ground):
    broken = []
    for path in glob.glob(f"{ground.folders[0]}/**/*.json", recursive=True):
        try:
            json.load(open(path))
        except ValueError:
            broken.append(path)
    aside = glob.glob(f"{ground.folders[0]}/**/*.corrupt-*", recursive=True)
    check(f"{ground.name}: every document parses, none was set aside", not broken and not aside, (broken + aside)[:5])


def trial(name, folders, folder):
    ground = Ground(PROGRAMS, name, folders, folder)
    try:
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for row in (players_at_once, notifies, moves, kills, thaw):
                row(ground, pool)
        documents(ground)
    finally:
        ground.end()


def storage_test(*folders):
    """The exit code, and the last line of what it printed."""
    done = subprocess.run([f"{PROGRAMS}/storage-test", *folders], capture_output=True, text=True, timeout=1800)
    lines = (done.stdout + done.stderr).strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def refused(name, folders):
    """Two mounts on which storage-test must find a broken promise, and then no program may work."""
    code, line = storage_test(*folders)
    check(f"{name}: storage-test refuses two mounts", code == 100 and line.startswith("not ok"), (code, line))
    print(f"# {name}: {line}", flush=True)
    environment = {"PATH": os.environ["PATH"], "TURNSTONE_STATE": folders[0], "TURNSTONE_CONFIG": "/dev/null",
                   "TURNSTONE_SERVER_KEY": "s" * 32}
    for program in ("register", "users-by-token", "notify", "health", "check-turns", "deliver", "deliver-web"):
        event = {
            "health": '{"method": "GET", "path": "/health"}',
            "register": '{"method": "POST", "path": "/register", "headers": {"X-API-Key": "' + "0" * 64 + '"}, "body": '
                        '{"user_id": "1", "device_token": "' + "0" * 64 + '"}}',
            "users-by-token": '{"method": "GET", "path": "/users-by-token/' + "0" * 64 + '", "headers": {"X-API-Key": "'
                              + "0" * 64 + '"}}',
            "notify": '{"method": "POST", "path": "/api/notify", "headers": {"Authorization": "Key ' + "s" * 32 + '"}, '
                      '"body": {"users": ["1"], "title": "x"}}',
        }.get(program, "")
        done = subprocess.run([f"{PROGRAMS}/{program}"], input=event, capture_output=True, text=True, env=environment)
        is_refused = '"statusCode":503' in done.stdout if event else done.returncode == 100
        check(f"{name}: {program} refuses to work and names the command",
              is_refused and "Run: storage-test" in done.stdout + done.stderr, (done.returncode, done.stdout, done.stderr))
    left = sorted(os.listdir(folders[0]))
    check(f"{name}: nothing was written", not left, left)


class Volume:
    """Two mounts of a file system, each with a client of its own."""

    def __init__(self, folder, command, restart=None):
        # The command of a client, by the mount's path.
        self.command = command
        # Gives the file system another clock, such as "+10m"; None if it cannot.
        self.restart = restart
        self.mounts = [f"{folder}/mount-{host}" for host in "ab"]
        self.clients = [None, None]

    def mount(self):
        for mount in self.mounts:
            os.makedirs(mount)
        for host in (0, 1):
            self.start(host)

    def start(self, host):
        mount = self.mounts[host]
        self.clients[host] = subprocess.Popen(
            self.command(mount), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for _ in range(200):
            if os.path.ismount(mount):
                return
            time.sleep(0.1)
        raise RuntimeError(f"{mount} is not mounted")

    def remount(self, host):
        self.unmount(host)
        self.start(host)

    def unmount(self, host):
        subprocess.run(["umount", "-l", self.mounts[host]], stderr=subprocess.DEVNULL)
        client = self.clients[host]
        if client is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            client.wait(timeout=20)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(client.pid, signal.SIGKILL)
        client.wait()

    def end(self):
        for host in (0, 1):
            self.unmount(host)


@contextlib.contextmanager
def juicefs(folder, options):
    """Two mounts of a fresh volume."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    redis = subprocess.Popen(
        ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", folder],
        stdout=subprocess.DEVNULL)
    address = f"redis://127.0.0.1:{port}/1"
    volume = Volume(folder, lambda mount: [
        JUICEFS, "mount", address, mount, "--no-usage-report", "--cache-dir", f"{mount}.cache", *options])
    try:
        for _ in range(100):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.05)
        os.makedirs(f"{folder}/objects")
        subprocess.run(
            [JUICEFS, "format", address, "turnstone", "--storage", "file", "--bucket", f"{folder}/objects/",
             "--trash-days", "0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        volume.mount()
        yield volume
    finally:
        volume.end()
        redis.terminate()
        redis.wait()


@contextlib.contextmanager
def moosefs(folder):
    """Two mounts of a fresh MooseFS. Its servers refuse loopback addresses: they get a network of their own."""
    if not all(shutil.which(name) for name in ("mfsmaster", "mfschunkserver", "mfsmount", "nsenter", "ip")):
        raise RuntimeError("moosefs-master, moosefs-chunkserver, moosefs-client and iproute2 are not all installed")
    network, address = f"{folder}/network", "10.9.9.1"

    def inside(*command, check=True):
        done = subprocess.run(["nsenter", f"--net={network}", *command], capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{command[0]}: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.returncode

    def restart(clock):
        """Gives the file system another clock: "+10m"."""
        inside("mfsmaster", "-c", f"{folder}/master.cfg", "stop")
        inside("env", f"LD_PRELOAD={FAKETIME}", f"FAKETIME={clock}", "mfsmaster", "-c", f"{folder}/master.cfg", "start")

    for place in ["master", "chunks", "disk"]:
        os.makedirs(f"{folder}/{place}")
    volume = Volume(folder, lambda mount: ["nsenter", f"--net={network}", "mfsmount", mount, "-H", address, "-f"], restart)
    files = {
        "network": "", "master/metadata.mfs": "MFSM NEW", "exports.cfg": "* / rw,alldirs,maproot=0:0\n", "disk.cfg": f"{folder}/disk\n",
        "master.cfg": f"DATA_PATH = {folder}/master\nEXPORTS_FILENAME = {folder}/exports.cfg\nSESSION_SUSTAIN_TIME = 60\n"
                      + "".join(f"MATO{whom}_LISTEN_HOST = {address}\n" for whom in ("ML", "CS", "CL")),
        "chunks.cfg": f"DATA_PATH = {folder}/chunks\nHDD_CONF_FILENAME = {folder}/disk.cfg\nHDD_LEAVE_SPACE_DEFAULT = 16MiB\n"
                      f"MASTER_HOST = {address}\nCSSERV_LISTEN_HOST = {address}\n"}
    for name, content in files.items():
        account = "WORKING_USER = root\nWORKING_GROUP = root\nLOCK_MEMORY = 0\n" if name in ("master.cfg", "chunks.cfg") else ""
        open(f"{folder}/{name}", "w").write(account + content)
    subprocess.run(["unshare", f"--net={network}", "true"], check=True)
    try:
        inside("ip", "link", "set", "lo", "up")
        inside("ip", "address", "add", f"{address}/32", "dev", "lo")
        inside("mfsmaster", "-c", f"{folder}/master.cfg", "start")
        inside("mfschunkserver", "-c", f"{folder}/chunks.cfg", "start")
        volume.mount()
        for _ in range(100):
            with contextlib.suppress(OSError):
                # It can be written once the chunk server has said hello.
                open(f"{volume.mounts[0]}/probe", "w").write("x")
                os.remove(f"{volume.mounts[0]}/probe")
                break
            time.sleep(0.2)
        else:
            raise RuntimeError("MooseFS cannot be written")
        yield volume
    finally:
        volume.end()
        inside("mfschunkserver", "-c", f"{folder}/chunks.cfg", "stop", check=False)
        inside("mfsmaster", "-c", f"{folder}/master.cfg", "stop", check=False)
        subprocess.run(["umount", network], stderr=subprocess.DEVNULL)


HERE = "this machine's file system"
FAKETIME = next(iter(glob.glob("/usr/lib/*/faketime/libfaketime.so.1")), None)
NO_CACHES = ["--entry-cache", "0", "--dir-entry-cache", "0", "--attr-cache", "0"]
# A name, what mounts it twice in a folder, and whether two mounts are safe.
SHARED = [
    ("JuiceFS with its default caches", lambda folder: juicefs(folder, []), False),
    ("JuiceFS without caches", lambda folder: juicefs(folder, NO_CACHES), True),
    ("MooseFS", moosefs, True),
]


def shared(name, volume, is_safe, folder):
    """A file system with two mounts."""
    states = [f"{mount}/state" for mount in volume.mounts]
    os.makedirs(states[0])
    if not is_safe:
        refused(name, states)
    # One machine may use it.
    code, line = storage_test(states[0])
    check(f"{name}, one mount: storage-test passes", code == 0, (code, line))
    if not is_safe:
        return
    code, line = storage_test(*states)
    check(f"{name}, two mounts: storage-test passes", code == 0, (code, line))
    trial(f"{name}, two mounts", states, folder)
    if volume.restart and FAKETIME:
        clock(name, volume.restart, states[0], folder)
    elif volume.restart:
        print(f"skipped: {name} with another clock: libfaketime is not installed", flush=True)
    states = [f"{mount}/taken-over" for mount in volume.mounts]
    os.makedirs(states[0])
    code, line = storage_test(*states)
    check(f"{name}, two mounts: storage-test passes again", code == 0, (code, line))
    taken_over(name, volume, states, folder)


def main():
    if not any(ONLY in name for name in [HERE] + [name for name, _, _ in SHARED]):
        sys.exit(f"no file system's name has {ONLY} in it")
    folder = tempfile.mkdtemp(prefix="turnstone-machines.")
    try:
        local = f"{folder}/local"
        os.makedirs(local)
        if ONLY in HERE:
            check(f"{HERE}: storage-test passes", storage_test(local)[0] == 0)
            trial(HERE, [local, local], folder)
        for name, twice_mounted, is_safe in SHARED:
            if ONLY not in name:
                continue
            place = tempfile.mkdtemp(dir=folder)
            with contextlib.ExitStack() as stack:
                try:
                    volume = stack.enter_context(twice_mounted(place))
                except (RuntimeError, subprocess.CalledProcessError) as error:
                    print(f"skipped: {name}: {error}", flush=True)
                    continue
                shared(name, volume, is_safe, place)
        if MOUNTS:
            states = [tempfile.mkdtemp(dir=MOUNTS[0])]
            states.append(f"{MOUNTS[1]}/{os.path.basename(states[0])}")
            refused(f"the mounts {' and '.join(MOUNTS)}", states)
            shutil.rmtree(states[0], ignore_errors=True)
        print("ok everything was tried")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
