"""Measures the overhead of the Python package: python/tests/call_bench.py, run by a Python that has it installed.

Measures import and first use in new processes, a call on a small image, and calls on images of 1920x1080, with the
share of time that the library reports as computation. Then runs and streams of a generated video alternate with the
program (MILLRACE_PROGRAM, or millrace on the PATH) under the same schedule. The program's start and loading are not
counted. The output is medians.
"""

import json
import os
import statistics
import subprocess
import sys
import time

import millrace as mr
import numpy as np

IMPORTS = """
import time
begin = time.perf_counter()
import millrace
imported = time.perf_counter()
import numpy
loaded = time.perf_counter()
millrace.Pipeline("blur")
print(imported - begin, loaded - imported, time.perf_counter() - loaded)
"""


def image(shape):
    return np.random.default_rng(1).integers(0, 256, shape, np.uint8)


def seconds_of(call, count):
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def imports(processes=9):
    rows = [tuple(map(float, subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True,
                                            check=True).stdout.split())) for _ in range(processes)]
    package, numpy, first = (1e3 * statistics.median(column) for column in zip(*rows))
    print(f"import millrace: {package:.1f} ms; NumPy, which images take: {numpy:.0f} ms; the first pipeline, with the "
          f"library: {first:.0f} ms")


def small(threads, count=5000):
    pipeline = mr.Pipeline("threshold(0.5)", threads=threads, structure="sequential", no_profile=True)
    one = image((16, 16))
    out = np.empty_like(one)
    seconds_of(lambda: pipeline(one, out=out), count // 4)
    call = statistics.median(seconds_of(lambda: pipeline(one, out=out), count))
    print(f"a call on 16x16 pixels, {threads} thread{'s' * (threads > 1)}: {1e6 * call:.1f} us, filtering included")


def large(text, threads, count=40, rounds=5):
    one = image((1080, 1920))
    out = None
    shares, calls = [], []
    pipeline = mr.Pipeline(text, threads=threads, structure="tiled", no_profile=True)
    for _ in range(rounds):
        out = pipeline(one, out=out)  # touches the memory first; counted only in the report's frames
        times = seconds_of(lambda: pipeline(one, out=out), count)
        computed = pipeline.report()["compute_seconds"] * count / (count + 1)
        shares.append(min(1.0, computed / sum(times)))
        calls.append(statistics.median(times))
    print(f"{text}, 1920x1080, {threads} thread{'s' * (threads > 1)}: {1e3 * statistics.median(calls):.2f} ms a call, "
          f"{100 * statistics.median(shares):.1f} % of it computing")


EDGES = "blur | [sobel_x, sobel_y] | magnitude"


def by_program(text, clip, threads):
    """Seconds of the run, from its report."""
    program = os.environ.get("MILLRACE_PROGRAM", "millrace")
    words = [program, "run", text, clip, "-o", "null", "--no-profile", "--structure", "tiled", "--threads", str(threads), "--json", "-"]
    done = subprocess.run(words, capture_output=True, check=True)
    return float(json.loads(done.stdout)["wall_seconds"])


FRESH = """
import sys
import time
import millrace as mr
text, clip, how, threads = sys.argv[1:]
mr.machine()  # loads the library
begin = time.perf_counter()
if how == "run":
    mr.run(text, clip, threads=threads, structure="tiled", no_profile=True)
else:
    for _ in mr.Pipeline(text, threads=threads, structure="tiled", no_profile=True).stream(clip):
        pass
print(time.perf_counter() - begin)
"""


def by_package(how):
    """Seconds of a call in its own process, like the program."""
    def seconds(text, clip, threads):
        return float(subprocess.run([sys.executable, "-c", FRESH, text, clip, how, str(threads)], capture_output=True,
                                    check=True).stdout)
    return seconds


def whole(text, size, frames, threads, rounds=15):
    """Compare whole runs with the program."""
    clip = f"test:{size}@{frames},gray"
    ways = by_program, by_package("run"), by_package("stream")
    rows = [[way(text, clip, threads) for way in ways] for _ in range(rounds + 1)][1:]
    told = [f"{text}, {size}, {frames} frames, {threads} thread{'s' * (threads > 1)}: "
            f"{1e6 * statistics.median(row[0] for row in rows) / frames:.1f} us a frame by the program"]
    for index, name in (1, "run()"), (2, "stream()"):
        speeds = sorted(row[0] / row[index] for row in rows)
        more = statistics.median(row[index] - row[0] for row in rows)
        told.append(f"{name} {statistics.median(speeds):.3f} [{speeds[rounds // 4]:.3f} .. {speeds[-1 - rounds // 4]:.3f}] of its "
                    f"speed, {1e6 * more / frames:+.1f} us a frame")
    print("; ".join(told))


if __name__ == "__main__":
    imports()
    for threads in 1, 2:
        small(threads)
    for text in "threshold(0.5)", EDGES, "rotate(6)":
        for threads in 1, 2:
            large(text, threads)
    for threads in 1, 2:
        whole(EDGES, "1920x1080", 240, threads)
    whole("threshold(0.5)", "16x16", 20000, 1)
