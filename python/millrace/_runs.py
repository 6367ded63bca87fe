"""Runs: their options, waiting for them, telling how far they are."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Union

from . import _millrace

# Called with the frames that are done and how many there will be, None where that is not known.
Progress = Callable[[int, Union[int, None]], None]
Path = Union[str, "os.PathLike[str]"]

# So often waiting comes back to Python, for Ctrl-C and for what tells the progress.
PATIENCE_MS = 100


def as_options(options: dict[str, Any]) -> dict[str, str]:
    """As the command line has them: frames_in_flight=2 is --frames-in-flight 2."""
    return {name.replace("_", "-"): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in options.items() if value is not None}


def run(pipeline: str, input: Path, output: Path = "null", *, progress: bool | Progress = False,
        **options: Any) -> dict[str, Any]:
    """Filters a video, as `millrace run PIPELINE INPUT -o OUTPUT` does; returns what it did.

    Ctrl-C stops it, as does what `progress` raises; the output then holds what was done. progress=True shows a line
    while it runs; a function is called with the frames done and the number there will be, some ten times a second.
    """
    one = _millrace.Run(str(pipeline), as_options(options))
    one.input(os.fspath(input))
    one.output(os.fspath(output))
    one.start()
    shown = _Line() if progress is True else None
    tell: Progress | None = shown if progress is True else progress or None
    try:
        while not one.wait(PATIENCE_MS):
            if tell is not None:
                tell(*_progress(one))
        if tell is not None:
            tell(*_progress(one))
    except BaseException:
        stop_and_wait(one)
        raise
    finally:
        if shown is not None:
            shown.close()
    return dict(json.loads(one.report()))


def stop_and_wait(one: _millrace.Run) -> None:
    """What is done is kept, whatever else went wrong."""
    one.stop()
    try:
        while not one.wait(PATIENCE_MS):
            pass
    except (_millrace.RunError, _millrace.UsageError):
        pass  # that it was stopped, or what is being raised already


def _progress(one: _millrace.Run) -> tuple[int, int | None]:
    frames, total = one.progress()
    return frames, None if total < 0 else total


class _Line:
    """One line on standard error, written over and over; notebooks do as terminals do."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, frames: int, total: int | None) -> None:
        seconds = max(time.monotonic() - self._begin, 1e-3)
        text = f"{frames} frames" if not total else f"{frames}/{total} frames, {100 * frames // total} %"
        sys.stderr.write(f"\r{text}, {frames / seconds:.0f} a second ")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")
