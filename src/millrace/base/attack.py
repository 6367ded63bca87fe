"""What the suites of attacks share: an attack is a function of a place, in which it tries to do harm."""

import time


class Held(Exception):
    """An attack that succeeded."""


class Skipped(Exception):
    """An attack that cannot be tried here, for this reason."""


def check(condition, message):
    if not condition:
        raise Held(message)


def run_attacks(attacks, only, make_place):
    """Tries those whose name has the word `only` in it, each in a place of its own; the exit code: 1 where one has not held."""
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
