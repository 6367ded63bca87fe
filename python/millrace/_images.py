"""The stand-in for an input image of a filter."""

from __future__ import annotations

from typing import Any

from ._numbers import Number, Operand, place_of
from ._trace import FARTHEST, FARTHEST_FRAME, Trace, error, whole_number


class Image(Number):
    """An input image of a filter. On its own it means the pixel at the output position. x[dx, dy] is the pixel dx
    columns to the right and dy rows down. Pixels beyond an edge repeat the edge."""

    def __init__(self, trace: Trace, which: int, time: int = 0) -> None:
        super().__init__(trace, -1)
        self._which = which
        self._time = time

    def _at(self) -> int:
        return self._read(0, 0)

    def _read(self, dx: int, dy: int) -> int:
        trace = self._trace
        if trace.resizes:
            return self.at(self.column + dx, self.row + dy)._at()
        return trace.add("pixel", (self._which, self._time), dx, dy)

    def __getitem__(self, distance: tuple[int, int]) -> Number:
        dx, dy = map(whole_number, distance) if isinstance(distance, tuple) and len(distance) == 2 else (None, None)
        if dx is None or dy is None:
            raise error("a pixel is read as x[dx, dy], by whole numbers: so far to the right, so far down")
        if max(abs(dx), abs(dy)) > FARTHEST:
            raise error(f"a pixel that is read is at most {FARTHEST} away, to the side and up or down")
        return Number(self._trace, self._read(dx, dy))

    def __iter__(self) -> Any:
        raise error("pixels are read as x[dx, dy]")

    def at(self, column: Operand, row: Operand) -> Number:
        """Return the input pixel in column floor(column) and row floor(row), or the nearest one if it is outside the
        image."""
        trace = self._trace
        column, row = place_of(trace, column), place_of(trace, row)
        return Number(trace, trace.add("pixel_at", column, row, (self._which, self._time)))

    def frame(self, distance: int) -> Image:
        """Return the same image `distance` frames later (earlier if negative). The first and last frame of a video are
        repeated."""
        so_far = whole_number(distance)
        if so_far is None:
            raise error("a frame is told by a whole number: x.frame(-1) is the one before")
        if abs(self._time + so_far) > FARTHEST_FRAME:
            raise error(f"a frame that is read is at most {FARTHEST_FRAME} away")
        return Image(self._trace, self._which, self._time + so_far)

    @property
    def column(self) -> Number:
        """Column of the pixel in its plane, from 0."""
        return Number(self._trace, self._trace.add("column"))

    @property
    def row(self) -> Number:
        return Number(self._trace, self._trace.add("row"))

    @property
    def width(self) -> Number:
        """Width of the input plane, in pixels."""
        return Number(self._trace, self._trace.add("width"))

    @property
    def height(self) -> Number:
        return Number(self._trace, self._trace.add("height"))

    @property
    def made_width(self) -> Number:
        """Width of the output plane, in pixels."""
        return self._made(0) if self._trace.resizes else self.width

    @property
    def made_height(self) -> Number:
        return self._made(1) if self._trace.resizes else self.height

    def _made(self, side: int) -> Number:
        return Number(self._trace, self._trace.add("coefficient", self._trace.coefficients + side))
