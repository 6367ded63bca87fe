"""Measures what `millrace run` takes to start, and its memory: seconds from the start of the process to the first frame
written, and the peak of resident memory at 1920x1080 for a short and a long stream.

usage: run_bench.py MILLRACE [--small INPUT] [--large INPUT] [--runs 9]

INPUT: what `millrace run` takes; generated sources of 352x288 and 1920x1080 where it is not given.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time


def first_frame_seconds(program, source, environment):
    """Until the header and the first frame have come through a pipe."""
    begin = time.monotonic()
    run = subprocess.Popen([program, "run", "@A", source, "--planes", "all", "--frames", "30", "-o", "-", "--quiet"],
                           stdout=subprocess.PIPE, env=environment)
    header = run.stdout.readline().decode()
    if not header:
        raise SystemExit(f"run_bench: {program} wrote nothing and ended with exit code {run.wait()}")
    fields = {field[0]: field[1:] for field in header.split()[1:]}
    run.stdout.readline()
    # Luma is enough: a frame is written as a whole.
    run.stdout.read(int(fields["W"]) * int(fields["H"]))
    seconds = time.monotonic() - begin
    run.stdout.read()
    if run.wait() != 0:
        raise SystemExit(f"run_bench: {program} ended with exit code {run.returncode}")
    return seconds


def peak_bytes(program, source, frames, environment):
    process = os.posix_spawn(program, [program, "run", "@A", source, "--planes", "all", "--frames", str(frames),
                                       "--loop", "1000", "--structure", "sequential", "-o", "null", "--quiet"],
                             environment)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise SystemExit(f"run_bench: {program} ended with exit code {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--small", default="test:352x288@60")
    parser.add_argument("--large", default="test:1920x1080@60")
    parser.add_argument("--runs", type=int, default=9, help="of the first frame; at least 2")
    options = parser.parse_args()
    if options.runs < 2:
        parser.error(f"--runs {options.runs}: the first finds nothing compiled, so the rest takes at least one more")
    with tempfile.TemporaryDirectory(prefix="millrace-run-bench-") as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        times = [first_frame_seconds(options.program, options.small, environment) for _ in range(options.runs)]
        print(f"first frame of {options.small}: {1e3 * times[0]:.0f} ms when nothing is compiled yet; "
              f"then median {1e3 * statistics.median(times[1:]):.0f} ms "
              f"({1e3 * min(times[1:]):.0f} to {1e3 * max(times[1:]):.0f}) of {options.runs - 1}")
        for frames in (60, 300, 900):
            peak = peak_bytes(options.program, options.large, frames, environment)
            print(f"sequential, {options.large}, {frames} frames: {peak / 1e6:.0f} MB at most")


if __name__ == "__main__":
    main()
