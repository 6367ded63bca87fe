"""Process videos on many machines. The output is identical to that of one machine.

    import millrace as mr

    job = mr.cluster.run("@B", "film.mp4", "film-edges.mkv", engine="ray", chunk_seconds=10)
    for progress in job:
        print(progress.frames, progress.fps, progress.nodes, progress.retried)

`python -m millrace.cluster run` does the same from a shell.

Engines: "processes" runs on this machine and needs only the millrace program. "ray" and "dask" use the nodes of a
cluster. All nodes must see the files under the same names.

The output depends only on the input and the options. The assignment of work to machines and lost machines change no
pixel. `millrace plan` divides a video into chunks, `millrace chunk` processes one chunk, and `millrace join` joins
the parts.
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
    """A job, which runs while it is iterated over. wait() iterates to the end. All calls still running are ended when
    the iteration ends, for any reason."""

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
        """Run to the end. Raises RunError if a video failed, after all others are done."""
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
        """Write one HTML page that shows which node did what, and when."""
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
    """Process one input to one output file, or many inputs, or all videos of a folder, into a folder with this suffix.

    nodes: number of nodes of engine "processes", which share the CPUs of this machine.

    address: the cluster, as for ray.init() or Dask's Client. By default a new cluster is started on this machine.

    small_bytes: videos up to this size are not divided, and are processed in groups.

    scratch: a folder for intermediate files that all machines see.

    Options that change the output are those of `millrace plan`: codec="h264", crf=20, encoder_threads=4.

    Inputs and the output may be URLs ("s3://films/a.mkv") if fsspec is installed. Whole files are fetched to the
    scratch folder, and written back from there.
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
