"""The main loop of a job: idle nodes pull the next task."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import json
import math
import os
import shutil
import statistics
import time
from collections.abc import Iterator
from typing import Any

from . import program as _program
from . import remote
from .engines import Engine
from .._millrace import RunError, UsageError
from .job import Job, Task, Video
from .program import Done

MOST_FAILURES = 2  # per task, each on another node if there is one
MOST_LOST = 20  # lost machines per task
MOST_EMPTY = 600.0  # seconds without a node; clouds take minutes to start one
PATIENCE = 600.0  # seconds before a task of unknown duration is also started elsewhere
WORTH_COPYING = 1.25  # start a copy if the remaining time exceeds its duration by this factor; estimates are no more precise
PARTS_TO_DO = 3  # exit code of `millrace join` if parts are missing, damaged or from another plan
ORDER = {"store": 0, "join": 0, "chunk": 1, "plan": 2, "batch": 3, "fetch": 4}


@dataclasses.dataclass
class Progress:
    """Progress of a job."""

    frames: int = 0
    seconds: float = 0
    done: int = 0  # finished videos
    failed: int = 0
    videos: int = 0
    chunks: int = 0  # finished chunks
    retried: int = 0  # chunks restarted after a failure or a lost machine
    copies: int = 0  # chunks started again while the first try was still running
    nodes: dict[str, float] = dataclasses.field(default_factory=dict)  # frames per second by node
    left_seconds: float | None = None

    @property
    def fps(self) -> float:
        return self.frames / self.seconds if self.seconds > 0 else 0.0


@dataclasses.dataclass(frozen=True)
class Event:
    """A finished call, for reports. Times are in seconds since the job began."""

    node: str
    task: str
    begun: float
    ended: float
    outcome: str  # "done", "failed", "lost", "late"
    frames: int


@dataclasses.dataclass
class _Running:
    node: str
    task: Task
    begun: float


def _told_of_chunk(done: Done) -> dict[str, Any]:
    """Return what `millrace chunk` wrote about its chunk."""
    try:
        return dict(json.loads(done.out)[0])
    except (ValueError, LookupError, TypeError):
        return {}


class Driver:
    def __init__(self, job: Job, engine: Engine, program: str | None = None) -> None:
        self.job = job
        self.engine = engine
        self.progress = Progress(videos=len(job.videos))
        self.events: list[Event] = []
        self._own = _program.versions(program)
        self._start = time.monotonic()
        self._queue: list[Task] = []
        self._running: dict[int, _Running] = {}
        self._rates: dict[str, list[tuple[int, float]]] = collections.defaultdict(list)
        self._paces: list[float] = []  # seconds per byte for groups of small videos

    def run(self) -> Iterator[Progress]:
        """Run the job. Yields the progress each time a call ends. Failed videos raise no exception."""
        todo = [video for video in self.job.videos if video.state == "waiting"]
        self.progress.done = len(self.job.videos) - len(todo)
        try:
            self._check_versions()
        except (UsageError, RunError):
            self.job.leave_nothing_new()
            raise
        self._queue = [task for task in self.job.first_tasks() if any(v.state == "waiting" for v in task.videos)]
        empty_since: float | None = None
        try:
            while self._queue or self._running:
                self.engine.want(self._wanted())
                self._check_versions()
                self._hand_out()
                if not self._running:
                    # No node is there. An autoscaling cluster soon has one.
                    empty_since = empty_since or time.monotonic()
                    if time.monotonic() - empty_since > MOST_EMPTY:
                        raise RunError(f"no node has come for {MOST_EMPTY / 60:g} minutes; what is done is kept, --resume goes on with it")
                else:
                    empty_since = None
                ended = self.engine.poll(0.5)
                for number, done in ended:
                    self._take(number, done)
                if ended:
                    self._count()
                    yield self.progress
        finally:
            for number in list(self._running):
                self.engine.cancel(number)
            # Keep the parts of failed videos, so that the job can be resumed.
            if not any(video.folder.exists() for video in self.job.videos):
                shutil.rmtree(self.job.folder, ignore_errors=True)
            self.job.let_go()
        self._count()
        yield self.progress

    def _check_versions(self) -> None:
        for node, told in self.engine.versions().items():
            for what, version in told.items():
                if version != self._own[what]:
                    raise UsageError(f"{node} has {what} {version}, this machine {self._own[what]}; all machines of a job "
                                     "need the same")

    def _wanted(self) -> int:
        """Number of calls that could run now: all waiting tasks, and copies of slow ones."""
        late = any(time.monotonic() - each.begun > self._patience(each.task) for each in self._running.values())
        return len(self._queue) + len(self._running) + late

    def _hand_out(self) -> None:
        busy = {running.node for running in self._running.values()}
        free = [node for node in self.engine.nodes() if node not in busy]
        for node in free:
            task = self._next(node, alone=len(free) + len(busy) == 1)
            if task is None:
                continue
            number = self.engine.start(node, task.words)
            self._running[number] = _Running(node, task, time.monotonic())

    def _next(self, node: str, alone: bool) -> Task | None:
        self._queue = [task for task in self._queue if any(v.state == "waiting" for v in task.videos)]
        # The sort is stable: chunks stay in order, the largest video first.
        for task in sorted(self._queue, key=lambda each: ORDER[each.kind]):
            if task.not_on == node and not alone:
                continue
            self._queue.remove(task)
            return task
        return self._copy_for(node) if not self._queue else None

    def _copy_for(self, node: str) -> Task | None:
        """Return a running task to copy to this node: one that takes far too long, because its machine may hang, or
        the chunk of a slower node expected to finish last, if this node would finish it sooner."""
        now = time.monotonic()
        running = collections.Counter(self._key(each.task) for each in self._running.values())
        single = [each for each in self._running.values() if running[self._key(each.task)] == 1]
        late = [each for each in single if now - each.begun > self._patience(each.task)]
        slower = [each for each in single if self._expected_end(each) > now + WORTH_COPYING * self._expected_seconds(node, each.task)]
        if late:
            task = min(late, key=lambda each: each.begun).task
        elif slower:
            task = max(slower, key=self._expected_end).task
        else:
            return None
        self.progress.copies += 1
        task.copied = True
        return task

    def _expected_seconds(self, node: str, task: Task) -> float:
        """Expected duration of a chunk, from earlier chunks on this node."""
        rates = self._rates.get(node)
        if task.kind != "chunk" or not rates:
            return math.inf
        return task.frames * sum(seconds for _, seconds in rates) / max(1, sum(frames for frames, _ in rates))

    def _expected_end(self, running: _Running) -> float:
        seconds = self._expected_seconds(running.node, running.task)
        return running.begun + seconds if seconds < math.inf else 0.0

    def _patience(self, task: Task) -> float:
        """Seconds after which a copy is worthwhile. Other tasks than chunks have little to compare with."""
        if task.kind in ("fetch", "store") or (task.kind == "batch" and task.failures):
            return math.inf  # network speed is unknown
        if task.kind == "batch":
            bytes = sum(video.size for video in task.videos)
            return max([PATIENCE, *(5 * bytes * pace for pace in self._paces)])
        if task.kind != "chunk":
            return PATIENCE
        seconds = [took / frames for rates in self._rates.values() for frames, took in rates if frames]
        return 2 * statistics.median(seconds) * task.frames + 1 if seconds else PATIENCE

    @staticmethod
    def _key(task: Task) -> tuple[str, str, int]:
        return task.kind, task.videos[0].input, task.chunk

    def _take(self, number: int, done: Done | None) -> None:
        if (running := self._running.pop(number, None)) is None:
            return  # its copy ended at the same moment and was handled first
        task = running.task
        if done is None or done.code < 0:
            self._again(running, "lost")
        elif done.code == 0 or (task.kind == "batch" and done.out):
            self._note(running, "done")
            self._done(running, done)
        elif task.kind == "join" and done.code == PARTS_TO_DO and not task.videos[0].repaired:
            self._note(running, "failed")
            self._end_copies(task)
            self._repair(task.videos[0])
        elif done.code == 2 or task.failures + 1 >= MOST_FAILURES:
            self._note(running, "failed")
            for video in task.videos:
                which = f"chunk {task.chunk}: " if task.kind == "chunk" else ""
                self._fail(video, which + done.reason.removeprefix(which))
        else:
            task.failures += 1
            self._again(running, "failed")

    def _again(self, running: _Running, outcome: str) -> None:
        task = running.task
        self._note(running, outcome)
        task.not_on = running.node if outcome == "failed" else ""
        task.lost += outcome == "lost"
        self.progress.retried += 1
        if task.lost > MOST_LOST:
            for video in task.videos:
                self._fail(video, f"{task.name}: every machine that did it was lost, {task.lost} in all")
            return
        if any(self._key(each.task) == self._key(task) for each in self._running.values()):
            return  # its copy continues
        self._queue.insert(0, task)

    def _done(self, running: _Running, done: Done) -> None:
        task = running.task
        self._end_copies(task)
        video = task.videos[0]
        if task.kind == "fetch":
            assert task.then is not None
            self._queue.insert(0, task.then)
        elif task.kind == "plan":
            self._begin_chunks(video)
        elif task.kind == "chunk":
            told = _told_of_chunk(done)
            video.codec = str(told.get("codec") or video.codec)
            skipped = told.get("state") == "skipped"
            if not skipped:  # verifying an existing part says nothing about the speed of a node
                self._rates[running.node].append((task.frames, done.seconds))
            if not video.repaired:
                self.progress.chunks += 1
                self.progress.frames += task.frames
            elif not skipped:
                self.progress.retried += 1
            video.left -= 1
            if video.left == 0 and video.state == "waiting":
                join = self.job.join_task(video)
                join.failures = int(video.repaired)
                self._queue.insert(0, join)
        elif task.kind == "join":
            self._made(video)
        elif task.kind == "store":
            self._finish(video)
        else:
            self._take_batch(running, done)

    def _end_copies(self, task: Task) -> None:
        for number, other in list(self._running.items()):
            if self._key(other.task) == self._key(task):
                self.engine.cancel(number)
                self._note(self._running.pop(number), "late")

    def _begin_chunks(self, video: Video) -> None:
        try:
            self._queue[:0] = self.job.chunk_tasks(video)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            self._fail(video, f"{video.plan}: is not a plan any more; was it changed?")

    def _repair(self, video: Video) -> None:
        """A part was damaged or removed after it was made. Run its chunk again; intact parts are skipped."""
        video.repaired = True
        self._begin_chunks(video)

    def _take_batch(self, running: _Running, done: Done) -> None:
        try:
            told = {job["input"]: job for job in json.loads(done.out)["jobs"]}
        except (ValueError, KeyError, TypeError):
            told = {}
        again = []
        for video in running.task.videos:
            job = told.get(video.source, {"state": "failed", "error": done.reason})
            if job["state"] in ("done", "skipped"):
                video.frames = job.get("frames", 0) or job.get("run", {}).get("frames", 0)
                video.codec = str(job.get("run", {}).get("codec") or "")
                self.progress.frames += video.frames
                self._made(video)
            elif running.task.copied:
                again.append(video)
            else:
                self._fail(video, job.get("error") or done.reason)
        if again:  # the other copy, now ended, had claimed them
            rest = self.job.batch_task(again)
            rest.failures = running.task.failures + 1
            self._queue.insert(0, rest)
        if size := sum(video.size for video in running.task.videos):
            self._paces.append(done.seconds / size)
        self._rates[running.node].append((sum(video.frames for video in running.task.videos), done.seconds))

    def _made(self, video: Video) -> None:
        """The output exists where the machines write it. Store it if the output is a URL, else finish the video."""
        with contextlib.suppress(OSError):
            video.output_bytes = os.path.getsize(video.target)
        if remote.is_url(video.output):
            self._queue.insert(0, self.job.store_task(video))
        else:
            self._finish(video)

    def _finish(self, video: Video) -> None:
        if video.state == "waiting":
            video.state = "done"
            self.progress.done += 1
            shutil.rmtree(video.folder, ignore_errors=True)

    def _fail(self, video: Video, why: str) -> None:
        if video.state == "waiting":
            video.state = "failed"
            video.error = why.removeprefix(f"{video.source}: ").removeprefix(f"{video.input}: ")
            self.progress.failed += 1
            if video.left == video.chunks and not video.repaired:
                shutil.rmtree(video.folder, ignore_errors=True)

    def _note(self, running: _Running, outcome: str) -> None:
        self.events.append(Event(running.node, running.task.name, running.begun - self._start,
                                 time.monotonic() - self._start, outcome, running.task.frames))

    def _count(self) -> None:
        p = self.progress
        p.seconds = time.monotonic() - self._start
        p.nodes = {}
        for node, rates in self._rates.items():
            took = sum(seconds for _, seconds in rates)
            p.nodes[node] = sum(frames for frames, _ in rates) / took if took > 0 else 0.0
        planned = sum(video.frames for video in self.job.videos)
        known = all(video.frames or video.state != "waiting" for video in self.job.videos)
        p.left_seconds = (planned - p.frames) / p.fps if known and p.frames else None
