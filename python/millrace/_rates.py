"""Convert frame rates and time bases to the exact fractions that people mean."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from ._millrace import UsageError

_MOST = 2**31 - 1
# NTSC slows multiples of 12 and 15 frames per second down by a factor of 1000/1001: 29.97 means 30000/1001.
_SLOWED = sorted({step * times for step in (12, 15) for times in range(1, 41)})
_NEAR = 0.005  # tolerance for rounded rates: 23.98, 29.97, 59.94


def as_rate(given: Any) -> Fraction:
    """Convert a number or text to frames per second."""
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
    """Convert a number or text to a time base, in seconds per unit. Most time bases are 1/N."""
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
        # Accepts NumPy numbers too.
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
