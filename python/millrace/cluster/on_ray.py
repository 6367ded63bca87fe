"""Engine for the nodes of a Ray cluster. See engines.py for the interface."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import time
from typing import Any

from . import program as _program
from .._millrace import UsageError
from .program import Call, Done, Ended, one_line

IDLE_SECONDS = 30.0  # time before the actor of an idle node is ended if no task is left for it
LEAST_BETWEEN = 2.0  # minimum seconds between requests to the autoscaler


class _RayNode:
    """The actor of a node."""

    def __init__(self, program: str | None) -> None:
        self._program = program
        self._call: Call | None = None

    def versions(self) -> dict[str, str]:
        return _program.versions(self._program)

    def run(self, words: list[str]) -> Done:
        self._call = Call(_program.find(self._program), words)
        done = self._call.result()
        assert done is not None
        return done

    def kill(self) -> None:
        if self._call is not None:
            self._call.kill()


class Ray:
    """Nodes of a Ray cluster, with one actor each that holds all CPUs. Nodes may come and go."""

    def __init__(self, address: str | None = None, program: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Ray reads this when it is loaded. If it is loaded already, the program that loaded it has chosen.
        if "ray" not in sys.modules:
            os.environ.setdefault("RAY_AUTH_MODE", "token")
        try:
            import ray
        except ImportError:
            raise UsageError("there is no Ray for this Python; 'pip install millrace[ray]' or 'scripts/setup cluster' "
                             "fetches it, and --engine processes needs nothing") from None
        self._ray: Any = ray
        self._own = not self._ray.is_initialized()
        if self._own:
            try:
                self._ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
            except ray.exceptions.AuthenticationError as error:
                raise UsageError(f"the Ray cluster does not let us in: {one_line(error)}") from None
            except ConnectionError as error:
                raise UsageError(f"{one_line(error)}; is it up, and is RAY_AUTH_TOKEN here its token?") from None
            except (ValueError, RuntimeError, ray.exceptions.RayError) as error:
                raise UsageError(f"there is no Ray cluster to join: {one_line(error)}") from None
        self._program = program
        self._actors: dict[str, Any] = {}
        self._ids: dict[str, str] = {}
        self._asked: dict[str, Any] = {}  # nodes that have not yet reported their versions
        self._trusted: set[str] = set()  # nodes that have reported them
        self._numbers = itertools.count()
        self._calls: dict[int, tuple[str, Any]] = {}
        self._looked = 0.0
        self._cpus: dict[str, int] = {}
        self._wanted = 1
        self._released: set[str] = set()  # nodes whose actor was ended because no work was left
        self._busy_at: dict[str, float] = {}
        self._requested: list[dict[str, int]] = []
        self._requested_at = 0.0
        self._look()

    def _look(self) -> None:
        """Update the known nodes."""
        if time.monotonic() - self._looked < 1 and self._ids:
            return
        self._looked = time.monotonic()
        alive = {f"{node['NodeManagerHostname']}/{node['NodeID'][-6:]}": node for node in self._ray.nodes()
                 if node["Alive"] and node["Resources"].get("CPU", 0) >= 1}
        self._ids = {name: node["NodeID"] for name, node in alive.items()}
        self._cpus = {name: int(node["Resources"]["CPU"]) for name, node in alive.items()}
        for name in set(self._actors) - set(alive):
            del self._actors[name]
            self._asked.pop(name, None)
        for name, node in alive.items():
            if name not in self._actors and (name not in self._released or self._wanted > len(self._actors)):
                self._released.discard(name)
                self._busy_at[name] = time.monotonic()
                self._actors[name] = self._actor(node["NodeID"], node["Resources"]["CPU"])

    def want(self, tasks: int) -> None:
        now = time.monotonic()
        self._wanted = tasks
        busy = {node for node, _ in self._calls.values()}
        self._busy_at.update(dict.fromkeys(busy, now))
        if tasks <= len(busy):
            for name in [name for name in self._actors if name not in busy and now - self._busy_at[name] > IDLE_SECONDS]:
                self._ray.kill(self._actors.pop(name))  # so that its node can be released
                self._asked.pop(name, None)
                self._trusted.discard(name)
                self._released.add(name)
        # Keep busy nodes. For waiting tasks, ask for more nodes of the usual size.
        usual = sorted(self._cpus.values())[len(self._cpus) // 2] if self._cpus else 1
        self._request([{"CPU": self._cpus[name]} for name in sorted(busy) if name in self._cpus] +
                      [{"CPU": usual}] * min(1000, tasks - len(busy)))

    def _request(self, bundles: list[dict[str, int]]) -> None:
        """Request capacity from the autoscaler for all users of the cluster. Without an autoscaler this has no effect."""
        if bundles == self._requested or time.monotonic() - self._requested_at < LEAST_BETWEEN:
            return
        from ray.autoscaler.sdk import request_resources

        request_resources(bundles=bundles)
        self._requested, self._requested_at = bundles, time.monotonic()

    def _actor(self, node: str, cpus: float) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return self._ray.remote(_RayNode).options(
            num_cpus=int(cpus), max_concurrency=2, max_restarts=0, max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(self._program)

    def nodes(self) -> list[str]:
        self._look()
        return [name for name in self._actors if name in self._trusted]

    def versions(self) -> dict[str, dict[str, str]]:
        # Before the start, all nodes are asked for their versions. Nodes that join later are not waited for.
        first = not self._trusted and not self._asked
        for name, actor in self._actors.items():
            if name not in self._trusted and name not in self._asked:
                self._asked[name] = actor.versions.remote()
        if not self._asked:
            return {}
        answers = list(self._asked.values())
        ready, _ = self._ray.wait(answers, num_returns=len(answers), timeout=60 if first else 0)
        told = {}
        for name in [name for name, answer in self._asked.items() if answer in ready]:
            try:
                told[name] = self._ray.get(self._asked.pop(name))
            except self._ray.exceptions.RayTaskError as error:
                raise UsageError(f"{name}: {error.cause}") from None
            except self._ray.exceptions.RayError:
                self._actors.pop(name, None)  # lost; start a new one if the node is still there
                self._looked = 0
                continue
            self._trusted.add(name)
        return told

    def start(self, node: str, words: list[str]) -> int:
        number = next(self._numbers)
        self._calls[number] = (node, self._actors[node].run.remote(words))
        return number

    def poll(self, seconds: float) -> Ended:
        self._look()
        if not self._calls:
            time.sleep(min(seconds, 0.1))
            return []
        references = {reference: number for number, (_, reference) in self._calls.items()}
        ready, _ = self._ray.wait(list(references), num_returns=1, timeout=seconds)
        ended: Ended = []
        for reference in ready:
            number = references[reference]
            node, _ = self._calls.pop(number)
            try:
                ended.append((number, self._ray.get(reference)))
            except self._ray.exceptions.RayTaskError as error:
                ended.append((number, Done(1, "", str(error.cause), 0)))
            except self._ray.exceptions.RayError:
                ended.append((number, None))
                self._actors.pop(node, None)  # start a new one if the node is still there
                self._looked = 0
        return ended

    def cancel(self, number: int) -> None:
        node, _ = self._calls.pop(number, ("", None))
        if actor := self._actors.get(node):
            actor.kill.remote()

    def close(self) -> None:
        for number in list(self._calls):
            self.cancel(number)
        self._requested_at = 0.0
        self._request([])
        for actor in self._actors.values():
            self._ray.kill(actor)
        if self._own:
            self._ray.shutdown()
