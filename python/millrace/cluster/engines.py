"""Where calls of the millrace program run. A node does one at a time, with all its CPUs.

An engine has

    nodes()             names of the nodes that are there now
    versions()          {node: what it has}, for nodes not asked before
    start(node, words)  a call on an idle node; its number
    poll(seconds)       [(number, Done or None where the node was lost)] of calls that ended, waiting that long at most
    cancel(number)      nobody waits for it any more
    close()
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import time
from typing import Any, Protocol

from . import program as _program
from .._millrace import RunError, UsageError
from .program import Call, Done

Ended = list[tuple[int, "Done | None"]]


class Engine(Protocol):
    def nodes(self) -> list[str]: ...
    def versions(self) -> dict[str, dict[str, str]]: ...
    def start(self, node: str, words: list[str]) -> int: ...
    def poll(self, seconds: float) -> Ended: ...
    def cancel(self, number: int) -> None: ...
    def close(self) -> None: ...


class Processes:
    """Processes of this machine: its CPUs shared out among so many nodes. Needs nothing."""

    def __init__(self, nodes: int | None = None, program: str | None = None) -> None:
        cpus = sorted(os.sched_getaffinity(0))
        count = nodes if nodes is not None else 1
        if not 1 <= count <= 4096:
            raise UsageError(f"{count} nodes; give 1 to 4096")
        self._program = _program.find(program)
        # More nodes than CPUs share them.
        shares = [set(cpus[i::count]) or {cpus[i % len(cpus)]} for i in range(count)]
        self._cpus = {f"node {i}": share for i, share in enumerate(shares)}
        self._numbers = itertools.count()
        self._calls: dict[int, Call] = {}

    def nodes(self) -> list[str]:
        return list(self._cpus)

    def versions(self) -> dict[str, dict[str, str]]:
        return {}  # those of the driver

    def start(self, node: str, words: list[str]) -> int:
        number = next(self._numbers)
        self._calls[number] = Call(self._program, words, self._cpus[node])
        return number

    def poll(self, seconds: float) -> Ended:
        end = time.monotonic() + seconds
        while True:
            # Often enough, and not so often that it takes CPU time from the nodes.
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


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 300 else text[:297] + "..."


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
    """The nodes of a Ray cluster: one actor each, with all its CPUs. Nodes may come and go."""

    def __init__(self, address: str | None = None, program: str | None = None) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Read when Ray is loaded; where it is already, whoever loaded it has chosen.
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
                raise UsageError(f"the Ray cluster does not let us in: {_one_line(error)}") from None
            except ConnectionError as error:
                raise UsageError(f"{_one_line(error)}; is it up, and is RAY_AUTH_TOKEN here its token?") from None
            except (ValueError, RuntimeError, ray.exceptions.RayError) as error:
                raise UsageError(f"there is no Ray cluster to join: {_one_line(error)}") from None
        self._program = program
        self._actors: dict[str, Any] = {}
        self._ids: dict[str, str] = {}
        self._asked: dict[str, Any] = {}  # nodes that have not yet told their versions
        self._trusted: set[str] = set()  # that have
        self._numbers = itertools.count()
        self._calls: dict[int, tuple[str, Any]] = {}
        self._looked = 0.0
        self._look()

    def _look(self) -> None:
        """Who is there."""
        if time.monotonic() - self._looked < 1 and self._ids:
            return
        self._looked = time.monotonic()
        alive = {f"{node['NodeManagerHostname']}/{node['NodeID'][:6]}": node for node in self._ray.nodes()
                 if node["Alive"] and node["Resources"].get("CPU", 0) >= 1}
        self._ids = {name: node["NodeID"] for name, node in alive.items()}
        for name in set(self._actors) - set(alive):
            del self._actors[name]
            self._asked.pop(name, None)
        for name, node in alive.items():
            if name not in self._actors:
                self._actors[name] = self._actor(node["NodeID"], node["Resources"]["CPU"])

    def _actor(self, node: str, cpus: float) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return self._ray.remote(_RayNode).options(
            num_cpus=int(cpus), max_concurrency=2, max_restarts=0, max_task_retries=0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False)).remote(self._program)

    def nodes(self) -> list[str]:
        self._look()
        return [name for name in self._actors if name in self._trusted]

    def versions(self) -> dict[str, dict[str, str]]:
        # All that are there are asked before anything begins; those that come later are not waited for.
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
                self._actors.pop(name, None)  # lost; a new one, where the node itself is still there
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
                self._actors.pop(node, None)  # a new one, where the node itself is still there
                self._looked = 0
        return ended

    def cancel(self, number: int) -> None:
        node, _ = self._calls.pop(number, ("", None))
        if actor := self._actors.get(node):
            actor.kill.remote()

    def close(self) -> None:
        for number in list(self._calls):
            self.cancel(number)
        for actor in self._actors.values():
            self._ray.kill(actor)
        if self._own:
            self._ray.shutdown()


def _run_for_dask(program: str | None, words: list[str]) -> Done:
    """On a worker. Ends early where nobody wants the result any more: cancelled, or the driver is gone."""
    import distributed

    worker, key = distributed.get_worker(), distributed.worker.thread_state.key
    call = Call(_program.find(program), words)
    while (done := call.result(0.2)) is None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            call.kill()
            return Done(1, "", "cancelled", 0)
    return done


class Dask:
    """The workers of a Dask cluster: one of each machine, for all its CPUs. Workers may come and go."""

    def __init__(self, address: str | None = None, program: str | None = None) -> None:
        try:
            import distributed
        except ImportError:
            raise UsageError("there is no Dask for this Python; 'pip install millrace[dask]' or 'scripts/setup cluster' "
                             "fetches it, and --engine processes needs nothing") from None
        self._dask: Any = distributed
        self._cluster: Any = None
        if address is None:
            self._cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1",
                                                     dashboard_address=None)
        try:
            self._client = distributed.Client(address or self._cluster, timeout=10, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise UsageError(f"there is no Dask cluster to join at {address}: {_one_line(error)}") from None
        self._program = program
        self._workers: dict[str, str] = {}  # of each machine one, by its address
        self._asked: dict[str, Any] = {}
        self._trusted: set[str] = set()
        self._numbers = itertools.count()
        self._calls: dict[int, tuple[str, Any]] = {}

    def _look(self) -> None:
        there = self._client.scheduler_info(n_workers=-1)["workers"]
        hosts = {address: worker["host"] for address, worker in there.items()}
        self._workers = {host: address for host, address in self._workers.items() if address in hosts}
        for address in sorted(hosts):
            self._workers.setdefault(hosts[address], address)

    def _submit(self, address: str, function: Any, *words: Any) -> Any:
        return self._client.submit(function, *words, workers=[address], allow_other_workers=False, pure=False, retries=0)

    def nodes(self) -> list[str]:
        self._look()
        return [host for host, address in self._workers.items() if address in self._trusted]

    def versions(self) -> dict[str, dict[str, str]]:
        self._look()
        first = not self._trusted and not self._asked
        for address in self._workers.values():
            if address not in self._trusted and address not in self._asked:
                self._asked[address] = self._submit(address, _program.versions, self._program)
        end = time.monotonic() + (60 if first else 0)
        while any(answer.status == "pending" for answer in self._asked.values()) and time.monotonic() < end:
            time.sleep(0.01)
        told = {}
        for address, answer in list(self._asked.items()):
            host = next((host for host, each in self._workers.items() if each == address), None)
            if host is None or answer.status in ("cancelled", "lost"):
                del self._asked[address]  # lost
            elif answer.status == "error":
                raise UsageError(f"{host}: {_one_line(answer.exception())}")
            elif answer.status == "finished":
                told[host] = answer.result()
                del self._asked[address]
                self._trusted.add(address)
        return told

    def start(self, node: str, words: list[str]) -> int:
        number = next(self._numbers)
        address = self._workers[node]
        self._calls[number] = (address, self._submit(address, _run_for_dask, self._program, words))
        return number

    def poll(self, seconds: float) -> Ended:
        end = time.monotonic() + seconds
        while True:
            self._look()
            ended: Ended = []
            for number, (address, future) in self._calls.items():
                if future.status == "finished":
                    ended.append((number, future.result()))
                elif future.status == "error":
                    ended.append((number, Done(1, "", _one_line(future.exception()), 0)))
                elif future.status in ("cancelled", "lost") or address not in self._workers.values():
                    future.cancel()
                    ended.append((number, None))
            for number, _ in ended:
                del self._calls[number]
            if ended or time.monotonic() >= end:
                return ended
            time.sleep(0.01)

    def cancel(self, number: int) -> None:
        _, future = self._calls.pop(number, ("", None))
        if future is not None:
            future.cancel()

    def close(self) -> None:
        for number in list(self._calls):
            self.cancel(number)
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


def make(engine: str, nodes: int | None = None, address: str | None = None, program: str | None = None) -> Engine:
    """"processes", "ray" or "dask"."""
    if engine == "processes":
        if address:
            raise UsageError("--address is that of a cluster; leave it out, or give --engine ray or dask")
        return Processes(nodes, program)
    if engine in ("ray", "dask"):
        if nodes:
            raise UsageError("a cluster has the nodes it has; leave --nodes out")
        return Ray(address, program) if engine == "ray" else Dask(address, program)
    raise UsageError(f"there is no engine {engine!r}; use processes, ray or dask")
