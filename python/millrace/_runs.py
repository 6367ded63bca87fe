"""Runs: options, waiting and progress."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Union

from . import _millrace
from ._progress import shown

if TYPE_CHECKING:
    from ._filters import Filter

# Called with the number of frames done and the expected total, or None if the total is unknown.
Progress = Callable[[int, Union[int, None]], None]
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

# Waiting returns to Python at this interval, for Ctrl-C and progress.
PATIENCE_MS = 100


def as_options(options: dict[str, Any]) -> dict[str, str]:
    """Convert keyword options to command-line options: frames_in_flight=2 is --frames-in-flight 2."""
    return {name.replace("_", "-"): str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in options.items() if value is not None}


def told_filters(filters: Iterable[Filter]) -> str:
    """Return the descriptions of the filters for the C interface."""
    told = []
    for one in filters:
        if not hasattr(one, "told"):
            raise _millrace.UsageError(f"what is of {type(one).__name__} is no filter; put @millrace.filter before the "
                                       "function")
        told.append(one.told())
    return json.dumps(told)


def run(pipeline: str, input: Path, output: Path = "null", *, filters: Iterable[Filter] = (),
        progress: bool | Progress = False, **options: Any) -> dict[str, Any]:
    """Filter a video, like `millrace run PIPELINE INPUT -o OUTPUT`. Return a report of the run as a dict.

    filters: custom filters (@filter) that the pipeline may name.

    progress: True shows a progress display, which is a bar if `rich` is installed. A function is called about ten
    times per second with the number of frames done and the expected total, or None if unknown.

    Ctrl-C stops the run, and so does an exception raised by `progress`. The output then holds the frames done so
    far.
    """
    one = _millrace.Run(str(pipeline), as_options(options), told_filters(filters))
    one.input(os.fsencode(input))
    one.output(os.fsencode(output))
    one.start()
    bar = shown() if progress is True else None
    tell: Progress | None = bar if isinstance(progress, bool) else progress
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
        if bar is not None:
            bar.close()
    return dict(json.loads(one.report()))


def stop_and_wait(one: _millrace.Run) -> None:
    """Stop the run and wait. Frames already done are kept, whatever else fails."""
    one.stop()
    try:
        while not one.wait(PATIENCE_MS):
            pass
    except (_millrace.RunError, _millrace.UsageError):
        pass  # reports the stop, or an error that is already being raised


def _progress(one: _millrace.Run) -> tuple[int, int | None]:
    frames, total = one.progress()
    return frames, None if total < 0 else total
