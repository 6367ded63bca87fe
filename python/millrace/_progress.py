"""Progress display: a bar in terminals and notebooks if `rich` is installed, else a line."""

from __future__ import annotations

import sys
import time
from typing import Any, Optional, Protocol


class Shown(Protocol):
    def __call__(self, frames: int, total: Optional[int]) -> None: ...
    def close(self) -> None: ...


def shown() -> Shown:
    return _bar() or Line()


class Line:
    """One line on standard error that is overwritten. Works in terminals and notebooks."""

    def __init__(self) -> None:
        self._begin = time.monotonic()

    def __call__(self, frames: int, total: Optional[int]) -> None:
        seconds = max(time.monotonic() - self._begin, 1e-3)
        text = f"{frames} frames" if not total else f"{frames}/{total} frames, {100 * frames // total} %"
        sys.stderr.write(f"\r{text}, {frames / seconds:.0f} a second ")
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\n")


class Bar:
    def __init__(self, progress: Any) -> None:
        self._progress = progress
        self._task = progress.add_task("frames", total=None)
        progress.start()

    def __call__(self, frames: int, total: Optional[int]) -> None:
        self._progress.update(self._task, completed=frames, total=total)

    def close(self) -> None:
        self._progress.stop()


def _bar() -> Optional[Bar]:
    """Return a bar, or None if rich is missing or has nothing to draw on."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    console = Console(stderr=True)
    if console.is_jupyter:
        try:
            import ipywidgets  # noqa: F401  # what rich draws with in notebooks
        except ImportError:
            return None
    elif not console.is_terminal:
        return None
    return Bar(Progress(BarColumn(), MofNCompleteColumn(), TextColumn("frames"), _speed_column(),
                        TimeRemainingColumn(), console=console))


def _speed_column() -> Any:
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Any) -> Any:
            return Text("" if task.speed is None else f"{task.speed:.0f} a second")

    return Speed()
