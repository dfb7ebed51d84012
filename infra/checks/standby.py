"""The exercise of infra/standby. infra/checks/standby starts it, with the programs."""

import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import time

from ground import Ground, check, token

PROGRAMS = sys.argv[1]


def exercise(folder):
    primary, standby = f"{folder}/primary", f"{folder}/standby"
    os.makedirs(primary)
    ground = Ground(PROGRAMS, "standby", [primary, primary], folder)
    copies = []

    def copy():
        began = time.monotonic()
        done = subprocess.run(["infra/standby/copy", primary, standby], capture_output=True, text=True)
        copies.append((done.returncode, done.stderr, time.monotonic() - began))

    def notify(name, **more):
        return ground.request(
            0, "notify", "POST", "/api/notify", {"users": ["1"], "title": name, "idempotency_key": name, **more},
            ground.server)

    try:
        early, during, late = list(range(1, 31)), list(range(31, 51)), [51, 52, 53]
        for player in early + during + late:
            ground.key(player)
            ground.simulator.do(do="player", player=player)
        for player in early:
            assert ground.register(0, player, token(player))[0] == 200
        assert notify("before")[0] == 202
        ground.look_and_deliver()
        assert notify("later", send_after=(ground.now + 600_000) // 1000)[0] == 202
        check("a message before the copy arrives", [p for p in ground.pushes() if titled(p, "before")])
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            first = pool.submit(copy)
            answers = [pool.submit(ground.register, 0, player, token(player)) for player in during]
            first.result()
            assert all(answer.result()[0] == 200 for answer in answers)
        copy()
        check("a folder in use is copied", all(code == 0 for code, _, _ in copies), copies)
        for player in late:
            assert ground.register(0, player, token(player))[0] == 200
        assert notify("after")[0] == 202

        # The first machine is off.
        os.rename(primary, f"{primary}.off")
        began = time.monotonic()
        open(f"{standby}.active", "w").close()
        os.remove(f"{standby}/players.index")
        ground.folders = [standby, standby]
        before, sent = ground.looks(), len(ground.pushes())
        status, body, err = ground.request(0, "health", "GET", "/health")
        check("the copy is healthy", status == 200, (body, err))
        ground.advance(31)
        ground.look_and_deliver()
        taken = time.monotonic() - began
        after = ground.looks()
        missed = [p for p in early + during if after.get(str(p), 0) == before.get(str(p), 0)]
        check("each player of before the copy is looked at in the first cycle", not missed, missed)
        known = [p for p in late if after.get(str(p), 0) != before.get(str(p), 0)]
        check("who registered after the copy is missing, as the README says", not known, known)
        check("nothing that was delivered before arrives again", len(ground.pushes()) == sent, ground.pushes()[sent:])
        assert notify("before")[0] in (200, 202)
        ground.advance(601)
        ground.look_and_deliver()
        titles = sorted(p["payload"]["aps"]["alert"]["title"] for p in ground.pushes()[sent:])
        check("a message that waited arrives at its time, and a repeated request sends nothing", titles == ["later"], titles)
        assert ground.register(0, 51, token(51))[0] == 200
        ground.advance(31)
        looked = ground.looks().get("51", 0)
        ground.look_and_deliver()
        check("an app that starts registers again", ground.looks().get("51", 0) == looked + 1)
        refused = subprocess.run(["infra/standby/copy", f"{primary}.off", standby], capture_output=True, text=True)
        check("the copy that is in use is not overwritten", refused.returncode == 100, refused.stderr)
        slowest = max(seconds for _, _, seconds in copies)
        print(f"# copying took {slowest:.2f} s at most; from the copy to the first cycle's end {taken:.2f} s")
    finally:
        ground.end()


def titled(push, title):
    alert = push["payload"]["aps"].get("alert")
    return isinstance(alert, dict) and alert.get("title") == title


def main():
    folder = tempfile.mkdtemp(prefix="turnstone-standby.")
    try:
        exercise(folder)
        print("ok everything was tried")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


main()
