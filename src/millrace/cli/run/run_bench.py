"""Measures start-up time and memory of `millrace run`: seconds from the start of the process to the first frame
written, for generated frames and for a file, and the peak resident memory at 1920x1080, for generated frames
without output, short and long, and from file to file.

usage: run_bench.py MILLRACE [--small INPUT] [--clip FILE] [--large INPUT] [--video FILE] [--runs 9] [--peaks 5]

INPUT: any input of `millrace run`; default: generated sources of 352x288 and 1920x1080. FILE: videos of the same
sizes; default: H.264 in .mp4, made of generated frames.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time


def first_frame_seconds(program, source, environment):
    """Seconds until the header and the first frame have come through a pipe."""
    begin = time.monotonic()
    run = subprocess.Popen([program, "run", "@A", source, "--planes", "all", "--frames", "30", "-o", "-", "--quiet"],
                           stdout=subprocess.PIPE, env=environment)
    header = run.stdout.readline().decode()
    if not header:
        raise SystemExit(f"run_bench: {program} wrote nothing and ended with exit code {run.wait()}")
    fields = {field[0]: field[1:] for field in header.split()[1:]}
    run.stdout.readline()
    # Luma is enough, because a frame is written as a whole.
    run.stdout.read(int(fields["W"]) * int(fields["H"]))
    seconds = time.monotonic() - begin
    run.stdout.read()
    if run.wait() != 0:
        raise SystemExit(f"run_bench: {program} ended with exit code {run.returncode}")
    return seconds


def made(program, source, path, environment):
    subprocess.run([program, "run", "crop(1)", source, "-o", path, "--quiet", "--no-profile"], check=True, env=environment)
    return path


def peak_bytes(program, words, environment):
    """Peak memory of the process and of any compiler that it starts."""
    process = os.posix_spawn(program, [program, "run", "@A", *words, "--quiet"], environment)
    _, status, usage = os.wait4(process, 0)
    if status != 0:
        raise SystemExit(f"run_bench: {program} ended with exit code {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss * 1024


def show_first_frames(options, name, source, environment):
    times = [1e3 * first_frame_seconds(options.program, source, environment) for _ in range(options.runs)]
    print(f"| {name} | {times[0]:.0f} ms | {statistics.median(times[1:]):.0f} ms "
          f"({min(times[1:]):.0f} to {max(times[1:]):.0f}) |", flush=True)


def show_peaks(options, name, words, environment, before=0):
    """The first runs, not counted, leave kernels and a profile."""
    peaks = [peak_bytes(options.program, words, environment) / 1e6 for _ in range(before + options.peaks)][before:]
    print(f"| {name} | {statistics.median(peaks):.0f} MB ({min(peaks):.0f} to {max(peaks):.0f}) |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--small", default="test:352x288@60")
    parser.add_argument("--clip")
    parser.add_argument("--large", default="test:1920x1080@60")
    parser.add_argument("--video")
    parser.add_argument("--runs", type=int, default=9, help="of the first frame; at least 2")
    parser.add_argument("--peaks", type=int, default=5, help="of each peak of memory")
    options = parser.parse_args()
    if options.runs < 2:
        parser.error(f"--runs {options.runs}: the first finds nothing compiled, so the rest takes at least one more")
    if options.peaks < 1:
        parser.error(f"--peaks {options.peaks}: give at least 1")
    with tempfile.TemporaryDirectory(prefix="millrace-run-bench-") as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": os.path.join(folder, "cache")}
        clip = options.clip or made(options.program, "test:352x288@60", os.path.join(folder, "small.mp4"), environment)
        video = options.video or made(options.program, "test:1920x1080@60", os.path.join(folder, "large.mp4"), environment)
        print(f"| first frame, through a pipe | nothing compiled yet | then (median of {options.runs - 1}) |\n|---|---|---|")
        show_first_frames(options, f"`{options.small}`", options.small, environment)
        # An empty cache, without kernels or profiles of earlier runs.
        environment["XDG_CACHE_HOME"] = os.path.join(folder, "other")
        show_first_frames(options, os.path.basename(clip), clip, environment)
        print(f"\n| peak of resident memory | median of {options.peaks} |\n|---|---|")
        for frames in (60, 300, 900):
            show_peaks(options, f"`{options.large}`, {frames} frames, sequential, to nowhere",
                       [options.large, "--planes", "all", "--frames", str(frames), "--loop", "1000", "--structure",
                        "sequential", "-o", "null"], environment)
        to_file = [video, "-y", "-o", os.path.join(folder, "out.mp4")]
        name = f"{os.path.basename(video)} to .mp4"
        show_peaks(options, f"{name}, by default", to_file, environment, before=2)
        show_peaks(options, f"{name}, `--encoder-threads 1`", [*to_file, "--encoder-threads", "1"], environment)
        show_peaks(options, f"{name}, `--encoder-threads 1 --decoder-threads 1`",
                   [*to_file, "--encoder-threads", "1", "--decoder-threads", "1"], environment)
        show_peaks(options, f"{os.path.basename(video)} to nowhere", [video, "-o", "null"], environment)


if __name__ == "__main__":
    main()
