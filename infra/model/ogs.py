"""Online-Go.com as the program `simulator` plays it: commands in, answers out."""

import json
import os
import subprocess

OPPONENT = 900


class Site:
    def __init__(self, program, folder):
        self.folder = os.path.join(folder, "simulator")
        self._process = subprocess.Popen(
            [program, "--folder", self.folder, "--until-stdin-ends", "--quiet-journal"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addresses = json.loads(self._process.stdout.readline())

    def tell(self, **command):
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if not answer["ok"]:
            raise RuntimeError(f"simulator: {command}: {answer['error']}")
        return answer

    def begin(self, now, games):
        """Forgets everything, and sets up these games (game: player), all of them the opponent's turn."""
        self.tell(do="reset")
        self.tell(do="clock", now=now)
        self.tell(do="player", player=OPPONENT, name="Opponent")
        for player in sorted(set(games.values())):
            self.tell(do="player", player=int(player), name=f"Player {player}")
        return {game: self.tell(do="game", game=game, name=f"Game {game}", black=int(player), white=OPPONENT,
                                moves=20, to_move=OPPONENT, speed="correspondence", now=now - 3_600_000)
                for game, player in games.items()}

    def looks(self):
        """How often each player was asked for so far."""
        report = self.tell(do="report")["ogs"]
        if report["violations"]:
            raise RuntimeError(f"simulator: {report['violations']}")
        return {str(player): count for player, count in report["players"].items()}

    def end(self):
        self._process.stdin.close()
        self._process.wait(10)
