"""Measures a whole run, from the start of its process to its end."""

import os
import resource
import subprocess
import sys
import time
import typing


class Seconds(typing.NamedTuple):
    wall: float
    processor: float  # of all awaited child processes, including compilers


def measure(words, environment):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    wall = time.monotonic() - begin
    if done.returncode != 0:
        name = os.path.basename(sys.argv[0]).removesuffix(".py")
        raise SystemExit(f"{name}: {' '.join(map(str, words))}: {done.stderr.decode().strip()[-300:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Seconds(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
