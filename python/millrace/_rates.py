"""Frames a second and units of time, as the exact fractions that people mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ._millrace import UsageError

_MOST = 2**31 - 1
# NTSC slows multiples of 12 and 15 frames a second down by a thousandth: 29.97 is 30000/1001.
_SLOWED = sorted({step * times for step in (12, 15) for times in range(1, 41)})
_NEAR = 0.005  # as people round: 23.98, 29.97, 59.94


def as_rate(given: Any) -> Fraction:
    """Frames a second, of any number or text that is one."""
    exact = _fraction("the frame rate", given)
    if _fits(exact) and _is_exact(given):
        return exact
    if exact.denominator != 1:
        for whole in _SLOWED:
            slowed = Fraction(whole * 1000, 1001)
            if abs(exact - slowed) <= _NEAR:
                return slowed
    return _nearest("the frame rate", exact)


def as_time_base(given: Any) -> Fraction:
    """Seconds in a unit of time: most are one part of a second."""
    exact = _fraction("the time base", given)
    if _fits(exact) and _is_exact(given):
        return exact
    return 1 / as_rate(float(1 / exact)) if exact < 1 else _nearest("the time base", exact)


def _is_exact(given: Any) -> bool:
    return isinstance(given, (int, Fraction)) or isinstance(given, str) and "/" in given


def _fraction(what: str, given: Any) -> Fraction:
    try:
        if isinstance(given, bool) or isinstance(given, float) and not math.isfinite(given):
            raise ValueError
        # Numbers of NumPy are numbers, too.
        exact = Fraction(given) if isinstance(given, (int, float, str, Fraction)) else Fraction(float(given))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        raise UsageError(f"{given!r} is not {what}; a number is, or a fraction, as 30000/1001") from None
    if exact <= 0:
        raise UsageError(f"{what} is above 0, not {given!r}")
    return exact


def _nearest(what: str, exact: Fraction) -> Fraction:
    near = exact.limit_denominator(1001)
    if near == 0 or not _fits(near):
        raise UsageError(f"{what} of {float(exact):g} is not possible; its fraction has numbers below 2^31")
    return near


def _fits(exact: Fraction) -> bool:
    return max(exact.numerator, exact.denominator) <= _MOST
