"""Engines run calls of the millrace program on nodes. A node runs one call at a time, with all its CPUs.

An engine has

    want(tasks)         number of calls that could run at once; an autoscaling cluster uses it
    nodes()             names of the current nodes
    versions()          {node: its versions} of nodes not asked before
    start(node, words)  start a call on an idle node; returns its number
    poll(seconds)       wait at most so long; [(number, Done or None if the node was lost)] of ended calls
    cancel(number)      drop a call whose result is not needed any more
    close()
"""

from __future__ import annotations

import itertools
import os
import time
from typing import Protocol

from . import program as _program
from .._millrace import UsageError
from .program import Call, Ended


class Engine(Protocol):
    def want(self, tasks: int) -> None: ...
    def nodes(self) -> list[str]: ...
    def versions(self) -> dict[str, dict[str, str]]: ...
    def start(self, node: str, words: list[str]) -> int: ...
    def poll(self, seconds: float) -> Ended: ...
    def cancel(self, number: int) -> None: ...
    def close(self) -> None: ...


class Processes:
    """Processes on this machine. The nodes share its CPUs. Needs no other software."""

    def __init__(self, nodes: int | None = None, program: str | None = None) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        count = nodes if nodes is not None else 1
        if not 1 <= count <= 4096:
            raise UsageError(f"{count} nodes; give 1 to 4096")
        self._program = _program.find(program)
        # If there are more nodes than CPUs, nodes share CPUs.
        shares = [set(cpus[i::count]) or {cpus[i % len(cpus)]} for i in range(count)]
        self._cpus = {f"node {i}": share for i, share in enumerate(shares)}
        self._numbers = itertools.count()
        self._calls: dict[int, Call] = {}

    def want(self, tasks: int) -> None:
        pass  # keep the CPUs it has

    def nodes(self) -> list[str]:
        return list(self._cpus)

    def versions(self) -> dict[str, dict[str, str]]:
        return {}  # same as those of the driver

    def start(self, node: str, words: list[str]) -> int:
        number = next(self._numbers)
        self._calls[number] = Call(self._program, words, self._cpus[node])
        return number

    def poll(self, seconds: float) -> Ended:
        end = time.monotonic() + seconds
        while True:
            # Poll often, but not so often that it takes CPU time from the nodes.
            turn = max(0.001, 0.02 / max(1, len(self._calls)))
            ended: Ended = [(number, done) for number, call in self._calls.items()
                            if (done := call.result(turn)) is not None]
            for number, _ in ended:
                del self._calls[number]
            if ended or time.monotonic() >= end:
                return ended
            if not self._calls:
                time.sleep(0.002)

    def cancel(self, number: int) -> None:
        if call := self._calls.pop(number, None):
            call.kill()

    def close(self) -> None:
        for number in list(self._calls):
            self.cancel(number)


def make(engine: str, nodes: int | None = None, address: str | None = None, program: str | None = None) -> Engine:
    """Make an engine: "processes", "ray" or "dask"."""
    if engine == "processes":
        if address:
            raise UsageError("--address is that of a cluster; leave it out, or give --engine ray or dask")
        return Processes(nodes, program)
    if engine in ("ray", "dask"):
        if nodes:
            raise UsageError("a cluster has the nodes it has; leave --nodes out")
        if engine == "ray":
            from .on_ray import Ray

            return Ray(address, program)
        from .on_dask import Dask

        return Dask(address, program)
    raise UsageError(f"there is no engine {engine!r}; use processes, ray or dask")
