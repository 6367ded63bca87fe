"""Estimates what the rest of the scheduler of the execution structures paper could gain, before it is built.

usage: scheduler_bench.py MILLRACE parts|idle|affinity|flight [--pipelines P ...] [--sizes 352x288 ...] [--threads 1 2] [--rounds 7]

parts: should each part of a pipeline have its own structure, tile and fusion? Computation only. All settings are
tried for the whole pipeline, and for each part at every possible split. Then the fastest setting of the whole and
those of the parts alternate. `gain` is the time of the whole divided by the sum of the parts, at the best split.
This is realistic because parts of different structure exchange planes in memory. The output is medians over rounds,
with minimum and maximum.

idle: share of the computing time in which a worker is idle because its frame ends, with 1 frame in flight up to one
per thread. This bounds the gain of stealing tiles across frames, in computing time and wall time. Taken from
traces.

affinity: whole runs with each arrangement that has enough CPUs, relative to none (`free`): wall clock and processor
time. Above 1 the arrangement pays off.

flight: the same comparison for one frame per thread, relative to threads that share a frame.
"""

import argparse
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measured_run import measure

PRESETS = {
    "@A": ["blur", "[sobel_x, sobel_y] | magnitude", "threshold(0.1)"],
    "@B": ["undistort(-0.12)", "rotate(6)", "crop(0.8)"],
    "@C": ["undistort(-0.12)", "rotate(60)", "crop(0.8)"],
    "@D": ["discretise(8)", "threshold(0.5)", "binary"],
    "@E": ["threshold(0.5)", "binary", "rotate(30)"],
    "@F": ["threshold(0.5)", "rotate(30)", "binary"],
    "@G": ["rotate(30)", "threshold(0.5)", "binary"],
    "scaled": ["resize({w2}, {h2}, bicubic)", "unsharp"],
    "cleaned": ["median(2)", "[sobel_x, sobel_y] | magnitude | threshold(0.1)"],
    "turned": ["rotate(30)", "blur | blur", "[sobel_x, sobel_y] | magnitude"],
    "long": ["undistort(-0.12) | rotate(6)", "median(2)", "blur | unsharp", "threshold(0.5)"],
}

SETTINGS = [("sequential", "0x0", "none"), ("sequential", "0x0", "pointwise"), ("sequential", "0x0", "stencil"),
            *itertools.product(["tiled"], ["64x64", "256x64", "0x64"], ["none", "pointwise", "stencil"]),
            ("sliding", "0x32", "none"), ("sliding", "0x32", "pointwise"), ("sliding", "0x32", "stencil"),
            ("sliding", "0x8", "pointwise"),
            ("backward-cached", "128x32", "pointwise"), ("backward-cached", "512x32", "pointwise"),
            ("backward", "256x16", "all")]


class Failed(Exception):
    pass


def spread(values):
    return f"{statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def report_of(words, environment):
    done = subprocess.run([*words, "--json", "-", "-q"], env=environment, stdin=subprocess.DEVNULL, capture_output=True)
    if done.returncode != 0:
        raise Failed(done.stderr.decode().strip()[-300:])
    return json.loads(done.stdout)


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache"}
        self.known = {}

    def words(self, pipeline, size, setting, threads, frames):
        structure, tile, fusion = setting
        words = [self.options.program, "run", pipeline, f"test:{size}@{frames}", "--structure", structure, "--fusion", fusion,
                 "--threads", str(threads)]
        return words if structure == "sequential" else [*words, "--tile", tile]

    def time(self, pipeline, size, setting, threads):
        """Return the milliseconds per frame of computation, and the output size."""
        pixels = 1
        for side in size.split("x"):
            pixels *= int(side)
        frames = 8
        repeat = max(1, round(self.options.work * 2e7 / pixels / frames))
        words = [*self.words(pipeline, size, setting, threads, frames), "--measure", "--planes", "luma", "--repeat",
                 str(repeat)]
        report = report_of(words, self.environment)
        return 1e3 * report["compute_seconds"] / report["frames"], report["output_format"].split()[0]

    def fastest(self, pipeline, size, threads):
        """Return the fastest setting, by the minimum of several trials, and the output size."""
        key = (pipeline, size, threads)
        if key in self.known:
            return self.known[key]
        times, out, reasons = {}, "", []
        for setting in SETTINGS:
            try:
                took, out = self.time(pipeline, size, setting, threads)
                times[setting] = min(took, self.time(pipeline, size, setting, threads)[0])
            except Failed as failed:  # a structure that this pipeline does not support
                reasons.append(str(failed))
        if not times:
            raise SystemExit(f"scheduler_bench: {pipeline}: {reasons[0]}")
        for setting in sorted(times, key=times.get)[:4]:
            times[setting] = min(times[setting], *(self.time(pipeline, size, setting, threads)[0] for _ in range(3)))
        self.known[key] = min(times, key=times.get), out
        return self.known[key]


def parts(bench):
    print(f"{'pipeline, size, threads':<28} {'gain':>22}  whole; parts", flush=True)
    for threads, size, name in itertools.product(bench.options.threads, bench.options.sizes, bench.options.pipelines):
        width, height = (int(side) for side in size.split("x"))
        pieces = [piece.format(w2=width // 2, h2=height // 2) for piece in PRESETS[name]]
        whole = " | ".join(pieces)
        best_whole, _ = bench.fastest(whole, size, threads)
        best_cut = None
        for cuts in range(1, len(pieces)):
            for places in itertools.combinations(range(1, len(pieces)), cuts):
                steps, at = [], size
                for begin, end in itertools.pairwise((0, *places, len(pieces))):
                    step = " | ".join(pieces[begin:end])
                    setting, out = bench.fastest(step, at, threads)
                    steps.append((step, at, setting))
                    at = out
                rounds = []
                for turn in range(bench.options.rounds):
                    times = {}

                    def time_whole():
                        times["whole"] = bench.time(whole, size, best_whole, threads)[0]

                    def time_parts():
                        times["parts"] = sum(bench.time(*step, threads)[0] for step in steps)

                    for timing in (time_whole, time_parts) if turn % 2 == 0 else (time_parts, time_whole):
                        timing()
                    rounds.append(times["whole"] / times["parts"])
                ranked = statistics.median(rounds)
                if best_cut is None or ranked > best_cut[0]:
                    best_cut = ranked, rounds, steps
        _, rounds, steps = best_cut
        print(f"{name + ' ' + size + ', ' + str(threads):<28} {spread(rounds):>22}  {' '.join(best_whole)}; "
              f"{' | '.join(' '.join(step[2]) for step in steps)}", flush=True)


def idle(bench):
    trace = f"{bench.folder}/trace.json"
    source = {}
    print(f"{'pipeline, size, in flight':<28} {'idle of computing':>22} {'idle of the run':>22}", flush=True)
    threads = max(bench.options.threads)
    setting = ("tiled", "256x64", "pointwise")
    for size, name in itertools.product(bench.options.sizes, bench.options.pipelines):
        width, height = (int(side) for side in size.split("x"))
        pipeline = " | ".join(PRESETS[name]).format(w2=width // 2, h2=height // 2)
        frames = max(30, min(600, 60_000_000 // (width * height)))
        for in_flight in range(1, threads + 1):
            rounds = []
            for _ in range(bench.options.rounds + 1):  # the first run compiles
                words = [*bench.words(pipeline, size, setting, threads, frames), "--frames-in-flight", str(in_flight),
                         "--planes", "all", "--trace", trace, "-y", "-o", "null"]
                report = report_of(words, bench.environment)
                rounds.append(idle_shares(json.loads(pathlib.Path(trace).read_text()), threads, report))
            rounds = rounds[1:]
            print(f"{name + ' ' + size + ', ' + str(in_flight):<28} {spread([r[0] for r in rounds]):>22} "
                  f"{spread([r[1] for r in rounds]):>22}", flush=True)


def idle_shares(trace, threads, report):
    """Idle shares of the batches of frames whose kernel calls are in the trace: from a worker's last call to the last
    call of any worker."""
    events = trace["traceEvents"] if isinstance(trace, dict) else trace
    turns = sorted((e["ts"], e["ts"] + e["dur"]) for e in events if e["ph"] == "X" and e["tid"] == 0 and "fusion" in e["name"])
    calls = sorted((e["ts"], e["ts"] + e["dur"], e["tid"]) for e in events if e["ph"] == "X" and e["tid"] != 0)
    lost = computing = 0.0
    place = 0
    for begin, end in turns:
        last = {}
        while place < len(calls) and calls[place][0] < end:
            if calls[place][0] >= begin:
                last[calls[place][2]] = max(last.get(calls[place][2], begin), calls[place][1])
            place += 1
        if not last:
            continue
        latest = max(last.values())
        lost += sum(latest - last.get(worker, begin) for worker in range(1, threads + 1)) / threads
        computing += end - begin
    if computing == 0:
        raise SystemExit("scheduler_bench: the trace has no kernel calls")
    share = lost / computing
    return share, share * report["compute_seconds"] / report["wall_seconds"]


def compare_values(bench, option, usual, others):
    """Compare whole runs with other values of an option with runs with the usual value."""
    print(f"{'pipeline, size, threads':<28} {option[2:]:<16} {'wall, ' + usual + ' / it':>22} {'processor time':>22}", flush=True)
    for threads, size, name in itertools.product(bench.options.threads, bench.options.sizes, bench.options.pipelines):
        width, height = (int(side) for side in size.split("x"))
        pipeline = " | ".join(PRESETS[name]).format(w2=width // 2, h2=height // 2)
        frames = max(40, min(1500, 150_000_000 // (width * height)))
        clip = f"{bench.folder}/{size}.y4m"
        if not os.path.exists(clip):
            measure([bench.options.program, "run", "crop(1)", f"test:{size}@{frames}", "-o", clip, "-q"], bench.environment)

        def words(value):
            return [bench.options.program, "run", pipeline, clip, "-o", "null", "-q", "--structure", "tiled", "--tile",
                    "256x64", "--threads", str(threads), option, value]

        measure([*words(usual), "--loop", "9"], bench.environment)  # compiles missing kernels
        possible = []
        for value in others(threads):
            if subprocess.run([*words(value), "--frames", "1"], env=bench.environment, capture_output=True).returncode == 0:
                possible.append(value)
        rounds = {value: [] for value in possible}
        for turn in range(bench.options.rounds):
            order = [usual, *possible]
            times = {which: measure(words(which), bench.environment) for which in (order if turn % 2 == 0 else order[::-1])}
            for which in possible:
                rounds[which].append((times[usual].wall / times[which].wall,
                                      times[usual].processor / times[which].processor))
        for which in possible:
            print(f"{name + ' ' + size + ', ' + str(threads):<28} {which:<16} {spread([r[0] for r in rounds[which]]):>22} "
                  f"{spread([r[1] for r in rounds[which]]):>22}", flush=True)


def affinity(bench):
    compare_values(bench, "--affinity", "free", lambda threads: ("pinned", "io-same", "io-diff", "module-diff"))


def flight(bench):
    compare_values(bench, "--frames-in-flight", "1", lambda threads: (str(threads),) if threads > 1 else ())


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].strip())
    parser.add_argument("program")
    questions = {"parts": parts, "idle": idle, "affinity": affinity, "flight": flight}
    parser.add_argument("question", choices=questions)
    parser.add_argument("--pipelines", nargs="+", choices=PRESETS, default=list(PRESETS))
    parser.add_argument("--sizes", nargs="+", default=["352x288", "1280x720", "1920x1080"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--work", type=float, default=1, help="of each timing: 1 is 20 million pixels")
    options = parser.parse_args()
    if options.rounds < 1 or min(options.threads) < 1 or options.work <= 0:
        parser.error("--rounds, --threads and --work take more than 0")
    with tempfile.TemporaryDirectory(prefix="millrace-scheduler-") as folder:
        try:
            questions[options.question](Bench(options, folder))
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
