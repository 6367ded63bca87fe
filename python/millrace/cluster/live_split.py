"""Live split: runs `millrace split` here and `millrace node` on each node of an engine."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
import threading
import time

from . import program as _program
from .engines import Engine
from .._millrace import RunError, UsageError


class _Head:
    """The head of a live split, in a process that inherits standard input and output."""

    def __init__(self, program: str, words: list[str], token: str, quiet: bool) -> None:
        self._process = subprocess.Popen([program, "split", *words], stderr=subprocess.PIPE, text=True, errors="replace",
                                         env=os.environ | {"MILLRACE_TOKEN": token})
        self.address = ""
        self.last = ""
        self._quiet = quiet
        self._told = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if not self.address and "millrace node " in line:
                self.address = line.split()[-1]
                self._told.set()
                continue
            self.last = line.strip()
            if not self._quiet or line.startswith("millrace:"):
                sys.stderr.write(line)
                sys.stderr.flush()
        self._told.set()

    def wait_for_address(self) -> str:
        """Return the address, or "" if the head has ended."""
        self._told.wait()
        return self.address

    def code(self) -> int | None:
        code = self._process.poll()
        if code is not None:
            self._listener.join(timeout=10)
        return code

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait()


def live_split(engine: Engine, words: list[str], *, nodes: int | None, program: str | None = None, quiet: bool = False) -> int:
    """Run until the stream ends. Return the exit code of the head. words: arguments of `millrace split` without --nodes.
    If a node ends early, it or another one is started again, as long as the engine has nodes."""
    own = _program.versions(program)
    token = secrets.token_hex(16)
    deadline = time.monotonic() + 120
    while True:
        for node, told in engine.versions().items():
            for what, version in told.items():
                if version != own[what]:
                    raise UsageError(f"{node} has {what} {version}, this machine {own[what]}; all machines of a live split need the same")
        there = engine.nodes()
        if len(there) >= (nodes or 1):
            break
        if time.monotonic() > deadline:
            raise RunError(f"{len(there)} nodes have come within two minutes, not {nodes or 1}")
        time.sleep(0.1)
    head = _Head(_program.find(program), [*words, "--nodes", str(nodes or len(there))], token, quiet)
    running: dict[int, str] = {}
    begun: dict[str, float] = {}
    over = False  # True after the head has told a node to end
    try:
        address = head.wait_for_address()
        while (code := head.code()) is None and address:
            engine.versions()
            for node in engine.nodes():
                # Pause before restarting a node that ended at once.
                if not over and node not in running.values() and time.monotonic() - begun.get(node, 0.0) > 1:
                    begun[node] = time.monotonic()
                    running[engine.start(node, [f"MILLRACE_TOKEN={token}", "node", address, "-q"])] = node
            for number, done in engine.poll(0.2):
                node = running.pop(number)
                over = over or (done is not None and done.code == 0)
                if done is not None and done.code == 2:
                    raise UsageError(f"{node}: {done.reason}")
        while (code := head.code()) is None:
            time.sleep(0.02)
        # Nodes end by themselves when the head tells them to.
        until = time.monotonic() + 10
        while running and time.monotonic() < until:
            for number, _ in engine.poll(0.1):
                running.pop(number)
        return code
    finally:
        head.end()
        for number in running:
            engine.cancel(number)
