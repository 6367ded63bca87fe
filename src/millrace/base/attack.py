"""Shared code of the attack suites. An attack is a function of a place, in which it tries to do harm."""

import resource
import signal
import time


class Held(Exception):
    """The attack succeeded."""


class Skipped(Exception):
    """The attack cannot be tried here, for this reason."""


def check(condition, message):
    if not condition:
        raise Held(message)


def limit_addresses(most):
    """Return a function that limits a new process to so many bytes of address space."""
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most))


def too_few_addresses(works, amounts):
    """Amounts of address space, in bytes, downwards from the least that `works` accepts. There the work itself runs
    out of memory, not the start-up."""
    enough, too_few = 1 << 31, 1 << 25
    if not works(enough):
        raise Skipped(f"{enough >> 20} MiB of addresses are not enough")
    while enough - too_few > 1 << 18:
        middle = (enough + too_few) // 2
        if works(middle):
            enough = middle
        else:
            too_few = middle
    return [enough - (number << 17) for number in range(amounts)]


def run_attacks(attacks, only, make_place):
    """Run the attacks whose name contains `only`, each in its own place. Return 1 if one succeeded."""
    # A shell ignores these for what it runs in the background, as does nohup. Programs inherit that, and a shell that
    # is attacked cannot trap what was ignored when it began.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    failed = 0
    for attack in attacks:
        if only not in attack.__name__:
            continue
        place = make_place()
        began = time.monotonic()
        try:
            attack(place)
            outcome = "held"
        except Skipped as reason:
            outcome = f"SKIPPED: {reason}"
        except Held as error:
            failed += 1
            outcome = f"NOT HELD: {error}"
        finally:
            place.close()
        print(f"{attack.__name__.replace('_', ' '):32} {time.monotonic() - began:6.1f} s  {outcome}", flush=True)
    return 1 if failed else 0
