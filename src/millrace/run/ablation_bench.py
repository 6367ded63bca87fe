"""Measures the gain of a mechanism over whole runs: this build of millrace against one without it.

usage: ablation_bench.py MILLRACE WITHOUT [--clips FOLDER] [--cases NAME ...] [--rounds 7]
       ablation_bench.py MILLRACE small-pages ...    the same program where the system gives it no huge pages

Schedules are fixed, so both builds do the same work and their outputs must be equal. The result is the time without
the mechanism divided by the time with it, for wall and processor time: above 1 the mechanism pays off. Runs
alternate. The output is the median of the ratios, with minimum and maximum in brackets. On a machine that is not
idle, use processor time.
"""

import argparse
import ctypes
import filecmp
import os
import pathlib
import statistics
import sys
import tempfile

from measured_run import measure

SCHEDULE = ["--structure", "tiled", "--tile", "256x64", "--fusion", "pointwise"]
# Pipeline, input, output. {folder} holds a clip as y4m, {clips} holds it as H.264.
CASES = {
    "@B-cif": ("@B", "test:352x288@1500", "null"),
    "@B-1080p": ("@B", "test:1920x1080@200", "null"),
    "@E-1080p": ("@E", "test:1920x1080@200", "null"),
    "@G-1080p": ("@G", "test:1920x1080@200", "null"),
    "@B-y4m": ("@B", "{folder}/in.y4m", "{folder}/out.y4m"),
    "@A-read": ("@A", "{folder}/in.y4m", "null"),
    "blur-read": ("blur", "{folder}/in.y4m", "null"),
    "@B-mp4": ("@B", "{clips}/flower_720p.264", "{folder}/out.mp4"),
}

PR_SET_THP_DISABLE = 41


def refuse_huge_pages(refused):
    """Refuse huge pages to this process and its children from now on."""
    if ctypes.CDLL(None).prctl(PR_SET_THP_DISABLE, int(refused), 0, 0, 0) != 0:
        raise SystemExit("ablation_bench: the kernel does not know PR_SET_THP_DISABLE")


def text_of(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def compare(name, programs, options, folder, environment):
    places = {"folder": folder, "clips": options.clips}
    pipeline, source, sink = CASES[name]
    source, sink = source.format(**places), sink.format(**places)
    if sink != "null":
        sinks = [str(pathlib.Path(sink).with_stem(stem)) for stem in ("with", "without")]
    else:
        sinks = ["null", "null"]
    words = [[program, "run", pipeline, source, "-o", sinks[i], "-y", "-q", "--planes", "all", *SCHEDULE]
             for i, program in enumerate(programs)]
    for run in words:  # compiles missing kernels
        measure(run, environment)
    if sink != "null" and not filecmp.cmp(*sinks, shallow=False):
        raise SystemExit(f"ablation_bench: {name}: the outputs differ")
    walls, processors = [], []
    for turn in range(options.rounds):
        times = {}
        for i in ((0, 1) if turn % 2 == 0 else (1, 0)):
            if options.without == "small-pages":
                refuse_huge_pages(i == 1)
            times[i] = measure(words[i], environment)
        walls.append(times[1].wall / times[0].wall)
        processors.append(times[1].processor / times[0].processor)
    print(f"{name:<10} {text_of(walls):>22} {text_of(processors):>22}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].strip())
    parser.add_argument("program")
    parser.add_argument("without")
    parser.add_argument("--clips", default="../shared/clips")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds takes at least 1")
    programs = [options.program, options.program if options.without == "small-pages" else options.without]
    with tempfile.TemporaryDirectory(prefix="millrace-ablation-") as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        try:
            measure([options.program, "run", "crop(1)", "test:1920x1080@60", "-o", f"{folder}/in.y4m", "-q"], environment)
            print(f"{'case':<10} {'wall, without/with':>22} {'processor time':>22}")
            for name in options.cases:
                compare(name, programs, options, folder, environment)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
