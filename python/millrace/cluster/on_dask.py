"""Engine for the workers of a Dask cluster. See engines.py for the interface."""

from __future__ import annotations

import itertools
import time
from typing import Any

from . import program as _program
from .._millrace import UsageError
from .program import Call, Done, Ended, one_line

MORE_WORKERS = "millrace-more-workers"  # a resource that no worker has
# Dask's adapt() assumes half a second of work per such task and asks for a worker per five seconds. This many tasks stand
# for one chunk.
ASKS_A_TASK = 10
MOST_ASKS = 1000


def _nothing() -> None:
    pass


def _run_for_dask(program: str | None, words: list[str]) -> Done:
    """Run a call on a worker. Ends early if the call is cancelled or the driver is gone."""
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
    """Workers of a Dask cluster, one per machine with all its CPUs. Workers may come and go."""

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
            raise UsageError(f"there is no Dask cluster to join at {address}: {one_line(error)}") from None
        self._program = program
        self._workers: dict[str, str] = {}  # one address per machine
        self._asks: list[Any] = []  # tasks that cannot run; adapt() scales by the waiting tasks
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

    def want(self, tasks: int) -> None:
        count = min(MOST_ASKS, ASKS_A_TASK * max(0, tasks - len(self._calls)))
        while len(self._asks) < count:
            self._asks.append(self._client.submit(_nothing, resources={MORE_WORKERS: 1}, pure=False))
        del self._asks[count:]

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
                raise UsageError(f"{host}: {one_line(answer.exception())}")
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
                    ended.append((number, Done(1, "", one_line(future.exception()), 0)))
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
        self._asks.clear()
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()
