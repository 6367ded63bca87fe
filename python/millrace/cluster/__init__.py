"""A video, or thousands of them, over many machines, with the output that one machine makes.

    import millrace as mr

    job = mr.cluster.run("@B", "film.mp4", "film-edges.mkv", engine="ray", chunk_seconds=10)
    for progress in job:
        print(progress.frames, progress.fps, progress.nodes, progress.retried)

`python -m millrace.cluster run` is the same from a shell. Engines: "processes" of this machine, which needs nothing but the
millrace program; "ray", the nodes of a Ray cluster, and "dask", those of a Dask cluster, which all see the files under the
same names.

What is done in the end depends on the input and the options only: which machine does what, and how often one is lost, changes
no pixel. Videos are cut into chunks by `millrace plan`, done by `millrace chunk` and joined by `millrace join`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import engines as _engines
from . import job as _job
from . import report as _report
from .driver import Driver, Event, Progress
from .._millrace import RunError, UsageError
from .job import Video

__all__ = ["Event", "Job", "Progress", "RunError", "UsageError", "Video", "run"]


class Job:
    """Goes on while it is iterated over; wait() does that. Ends what it began, however it ends."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._steps = self._run()

    def _run(self) -> Iterator[Progress]:
        try:
            yield from self._driver.run()
        finally:
            self._driver.engine.close()

    def __iter__(self) -> Iterator[Progress]:
        return self._steps

    def wait(self) -> Progress:
        """To the end. RunError where a video failed, once all others are done."""
        for _ in self._steps:
            pass
        if failed := self.failed:
            raise RunError("; ".join(f"{video.input}: {video.error}" for video in failed))
        return self._driver.progress

    @property
    def progress(self) -> Progress:
        return self._driver.progress

    @property
    def pipeline(self) -> str:
        return self._driver.job.pipeline

    def report(self, file: str) -> None:
        """Writes one HTML page: which node did what, and when."""
        _report.write(self, file)

    @property
    def videos(self) -> list[Video]:
        return self._driver.job.videos

    @property
    def failed(self) -> list[Video]:
        return [video for video in self.videos if video.state == "failed"]

    @property
    def events(self) -> list[Event]:
        return self._driver.events


def run(pipeline: str, inputs: str | list[str], output: str, *, engine: str = "processes", nodes: int | None = None,
        address: str | None = None, chunk_seconds: float = 10, small_bytes: int = 4 << 20, suffix: str = ".mkv",
        resume: bool = False, force: bool = False, program: str | None = None, scratch: str | None = None,
        **options: Any) -> Job:
    """One input to one output file; many, or all videos of a folder, into a folder, with this suffix.

    nodes: of engine "processes", which share this machine's CPUs. address: of the cluster, as ray.init() or Dask's Client
    takes it; none: a new one on this machine. small_bytes: videos up to this size are not cut, and done in groups. scratch: a
    folder that all machines see, for what is under way. Options that change the output are those of `millrace plan`:
    codec="h264", crf=20, encoder_threads=4.

    Inputs and the output may be URLs, where fsspec is installed ("s3://films/a.mkv"): they are fetched to the scratch folder,
    and written back from there, each as a whole.
    """
    words: list[str] = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if option in _job.OUTPUT_FLAGS:
            words += [f"--{option}"] if value else []
        elif option in _job.OUTPUT_OPTIONS:
            for each in value if isinstance(value, (list, tuple)) else [] if value is None else [value]:
                words += [f"--{option}", str(each)]
        else:
            raise UsageError(f"there is no option {name!r}; there are {', '.join(_job.OUTPUT_OPTIONS + _job.OUTPUT_FLAGS)}")
    if not 0.001 <= chunk_seconds <= 86400:
        raise UsageError(f"chunks of {chunk_seconds:g} seconds cannot be; give 0.001 to 86400")
    if not re.fullmatch(r"\.\w+", suffix):
        raise UsageError(f"{suffix!r} is no suffix of a video; write .mkv")
    made = _engines.make(engine, nodes, address, program)
    plan = None
    try:
        plan = _job.make(pipeline, [inputs] if isinstance(inputs, str) else list(inputs), output, chunk_seconds=chunk_seconds,
                         small_bytes=small_bytes, suffix=suffix, resume=resume, force=force, options=words, scratch=scratch)
        return Job(Driver(plan, made, program))
    except BaseException:
        made.close()
        if plan is not None:
            plan.leave_nothing_new()
        raise
