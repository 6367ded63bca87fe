"""Measures millrace-dedup and millrace-similar with every strategy, and compares predictions of the models.

usage: programs_compare.py --keep FOLDER [--millrace PATH] [--dedup PATH] [--similar PATH --images FOLDER]
                           [--parts measure,model,auto,report] [--rounds 3] [--minutes M]
                           [--megabytes 160] [--auto-megabytes 200] [--times-over 4]

measure: rounds of all fixed settings (strategies x 1, 2, 4 threads x 1, 2, 4, 8, 16 tokens) in a random order, and
of the calibration: the same work by one thread, alone, and then one copy per processor at once.

model: predicts every setting from the calibration of a round by `millrace model --from REPORT --trace TRACE
--beside REPORT --cores N`. Prints the median over the rounds, the minimum and the maximum, next to the measured
median. Predictions use no measured time except the calibration.

auto: rounds of `auto`, of the best fixed settings found by measure, and of 10 tokens per thread.

report: prints the results of auto.

FOLDER holds the input, the calibrations and all measured times. Another call with the same folder adds rounds. No
round starts after --minutes. dedup packs a tar of files of /usr, with every file twice. similar queries an index of
IMAGES with each of its photographs.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import time

STRATEGIES = ("pools", "oversubscribed", "collapsed", "stealing")
THREADS = (1, 2, 4)
TOKENS = (1, 2, 4, 8, 16)
CPUS = len(os.sched_getaffinity(0))
FOLDERS = ("/usr/bin", "/usr/include", "/usr/lib/python3", "/usr/lib/x86_64-linux-gnu", "/usr/share", "/usr/lib")


def quantile(values, share):
    """Nearest rank."""
    values = sorted(values)
    return values[round(share * (len(values) - 1))]


def some_files(megabytes):
    """File names from system folders, evenly from each."""
    names = []
    for folder in FOLDERS:
        left = megabytes * 1e6 / len(FOLDERS)
        for place, folders, files in os.walk(folder):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(place, name)
                if os.path.islink(path) or not os.path.isfile(path) or not os.access(path, os.R_OK):
                    continue
                if os.path.getsize(path) <= left:
                    left -= os.path.getsize(path)
                    names.append(path)
    return names


class Dedup:
    name = "dedup"

    def __init__(self, options, megabytes):
        self.program = options.dedup
        self.keep = options.keep
        self.input = options.keep / f"files-{megabytes}.tar"
        if self.input.exists():
            return
        names = options.keep / "names"
        names.write_text("\n".join(2 * some_files(megabytes / 2)) + "\n")
        subprocess.run(["tar", "cf", self.input, "--hard-dereference", "-T", names], check=True,
                       stderr=subprocess.DEVNULL)

    def command(self, copy):
        return [self.program, "pack", self.input, self.keep / f"packed-{copy}", "-q", "--memory", "1G"]


class Similar:
    name = "similar"

    def __init__(self, options, times_over):
        if options.images is None:
            raise SystemExit("similar needs --images, a folder of photographs")
        self.program = options.similar
        self.index = options.keep / "images.index"
        self.images = times_over * sorted(path for path in options.images.iterdir()
                                          if path.suffix in (".jpg", ".jpeg", ".png"))
        if not self.index.exists():
            subprocess.run([self.program, "index", options.images, "-o", self.index, "-q"], check=True)

    def command(self, _copy):
        return [self.program, "query", "-i", self.index, *self.images, "-q", "--memory", "1G", "--oversubscribe"]


def words_of(setting):
    strategy, threads, tokens = setting
    return ["--strategy", strategy, *(["--threads", str(threads)] if threads else []),
            *(["--tokens", str(tokens)] if tokens else [])]


def start(work, words, report, copy=0, cpus=None):
    """Start on these processors only, if any are given."""
    return subprocess.Popen([*work.command(copy), *words, "-y", "--json", report], stdout=subprocess.DEVNULL,
                            preexec_fn=(lambda: os.sched_setaffinity(0, cpus)) if cpus else None)


def finish(process, report):
    if process.wait() != 0:
        raise SystemExit(f"{' '.join(map(str, process.args[:3]))} ... failed")
    return json.loads(report.read_text())["run"]


def run(work, setting, keep):
    """Seconds of the stream, seconds of the whole process, and maximum bytes in flight."""
    report = keep / "report.json"
    began = time.monotonic()
    done = finish(start(work, words_of(setting), report), report)
    return {"wall": done["wall_s"], "elapsed": time.monotonic() - began, "bytes": done["peak_bytes"]}


def calibrate(work, keep, number):
    """Run one thread alone, with a trace; then one copy per processor, each pinned to its own."""
    files = {kind: keep / f"{work.name}-{number}-{kind}.json" for kind in ("report", "trace", "beside")}
    words = words_of(("stealing", 1, max(TOKENS)))
    alone = finish(start(work, [*words, "--trace", files["trace"]], files["report"]), files["report"])
    others = [keep / f"beside-{copy}.json" for copy in range(1, CPUS)]
    reports = [files["beside"], *others]
    running = [start(work, words, report, copy, {cpu})
               for copy, (report, cpu) in enumerate(zip(reports, sorted(os.sched_getaffinity(0))))]
    for process, report in zip(running, reports):
        finish(process, report)
    return {"calibration": str(number), "wall": alone["wall_s"]}


class Samples:
    """Measurements of this call and earlier ones, one JSON object per line."""

    def __init__(self, path):
        self.path = path
        self.all = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def add(self, **sample):
        self.all.append(sample)
        with self.path.open("a") as file:
            file.write(json.dumps(sample) + "\n")

    def of(self, part, program):
        return [sample for sample in self.all if sample["part"] == part and sample["program"] == program]


def rounds(options, measure_one_round):
    ends = time.monotonic() + 60 * options.minutes if options.minutes else None
    for _ in range(options.rounds):
        began = time.monotonic()
        measure_one_round()
        # Run whole rounds only, so another one must fit.
        if ends and time.monotonic() + (time.monotonic() - began) > ends:
            break


def measure(work, options, samples):
    order = random.Random()
    settings = [(s, p, t) for s in STRATEGIES for p in THREADS for t in TOKENS]

    def one_round():
        number = len([s for s in samples.of("measure", work.name) if "calibration" in s])
        todo = ["calibration", *settings]
        order.shuffle(todo)
        found = []
        for setting in todo:
            if setting == "calibration":
                found.append(calibrate(work, options.keep, number))
            else:
                found.append({"setting": setting, **run(work, setting, options.keep)})
        for sample in found:
            samples.add(part="measure", program=work.name, **sample)

    rounds(options, one_round)


def by_setting(samples, field):
    result = {}
    for sample in samples:
        if "setting" in sample:
            result.setdefault(tuple(sample["setting"]), []).append(sample[field])
    return result


def predict(work, options, number):
    """Predicted seconds of each setting, from one calibration."""
    files = {kind: options.keep / f"{work.name}-{number}-{kind}.json" for kind in ("report", "trace", "beside")}
    result = {}
    for tokens in TOKENS:
        done = subprocess.run(
            [options.millrace, "model", "--from", files["report"], "--trace", files["trace"], "--beside",
             files["beside"], "--cores", str(CPUS), "--threads", ",".join(map(str, THREADS)), "--strategy",
             ",".join(STRATEGIES), "--tokens", str(tokens), "--queue", "20", "--json"],
            check=True, capture_output=True)
        for row in json.loads(done.stdout)["predictions"]:
            result[row["strategy"], row["asked"], tokens] = row["seconds"]
    return result


def compare_model(work, options, samples):
    mine = samples.of("measure", work.name)
    calibrations = [s for s in mine if "calibration" in s]
    if not calibrations:
        raise SystemExit(f"nothing measured of {work.name} in {options.keep}; run --parts measure first")
    all_predicted = [predict(work, options, c["calibration"]) for c in calibrations]
    predicted = {setting: statistics.median(p[setting] for p in all_predicted) for setting in all_predicted[0]}
    measured = by_setting(mine, "wall")
    walls = [c["wall"] for c in calibrations]
    print(f"\n{work.name}: medians of {len(calibrations)} rounds on {CPUS} processors; calibration of "
          f"{statistics.median(walls):.3f} s [{min(walls):.3f} .. {max(walls):.3f}]\n")
    print(f"{'strategy':<15} {'threads':>7} {'tokens':>6} {'measured':>9} {'[quartiles]':>18} {'predicted':>10} "
          f"{'[of the rounds]':>21} {'error':>7}")
    errors, spreads, by_threads = [], [], {threads: [] for threads in THREADS}
    for setting, times in sorted(measured.items()):
        middle = statistics.median(times)
        error = predicted[setting] / middle - 1
        errors.append(abs(error))
        by_threads[setting[1]].append(abs(error))
        spreads.append((quantile(times, 0.75) - quantile(times, 0.25)) / middle)
        others = [prediction[setting] for prediction in all_predicted]
        strategy, threads, tokens = setting
        measured_range = f"[{quantile(times, 0.25):.3f} .. {quantile(times, 0.75):.3f}]"
        print(f"{strategy:<15} {threads:>7} {tokens:>6} {middle:>9.3f} {measured_range:>18} {predicted[setting]:>10.3f} "
              f"{f'[{min(others):.3f} .. {max(others):.3f}]':>21} {100 * error:>+6.1f}%")
    print(f"\n{work.name}: error: median {100 * statistics.median(errors):.1f} %, 90th percentile "
          f"{100 * quantile(errors, 0.9):.1f} %, worst {100 * max(errors):.1f} %, of {len(errors)} settings; "
          f"noise: quartiles of the same setting are {100 * statistics.median(spreads):.1f} % apart (median)")
    print("median error by threads: " + ", ".join(f"{threads}: {100 * statistics.median(these):.1f} %"
                                                  for threads, these in by_threads.items()), flush=True)


def contenders_of(samples):
    """The three best settings found by measure."""
    times = by_setting(samples, "elapsed")
    return sorted(times, key=lambda setting: statistics.median(times[setting]))[:3]


def auto(work, options, samples):
    best = contenders_of(samples.of("measure", work.name))
    if not best:
        raise SystemExit(f"nothing measured of {work.name} in {options.keep}; run --parts measure first")
    # 0: chosen by the program.
    todo = [("auto", 0, 0), ("stealing", CPUS, 10 * CPUS), *best]
    order = random.Random()

    def one_round():
        number = len(samples.of("auto", work.name))
        settings = todo[:]
        order.shuffle(settings)
        found = [{"setting": setting, "round": number, **run(work, setting, options.keep)} for setting in settings]
        for sample in found:
            samples.add(part="auto", program=work.name, **sample)

    rounds(options, one_round)


def report_auto(work, samples):
    mine = samples.of("auto", work.name)
    rounds_of = {}
    for sample in mine:
        rounds_of.setdefault(sample["round"], {})[tuple(sample["setting"])] = sample
    times = by_setting(mine, "elapsed")
    chosen = ("auto", 0, 0)
    print(f"\n{work.name}: auto against fixed settings, {len(rounds_of)} rounds; ratios within a round\n")
    print(f"{'setting':<34} {'seconds':>8}   {'auto reaches of its speed':<30} {'bytes in flight':>16}")
    for setting in sorted(times, key=lambda s: statistics.median(times[s])):
        ratios = [r[setting]["elapsed"] / r[chosen]["elapsed"] for r in rounds_of.values()
                  if setting in r and chosen in r]
        share = (f"{100 * statistics.median(ratios):.1f} % [{100 * quantile(ratios, 0.25):.1f} .. "
                 f"{100 * quantile(ratios, 0.75):.1f}]")
        held = statistics.median(s["bytes"] for s in mine if tuple(s["setting"]) == setting)
        strategy, threads, tokens = setting
        name = strategy if setting == chosen else f"{strategy}, {threads} threads, {tokens} tokens"
        print(f"{name:<34} {statistics.median(times[setting]):>8.3f}   {share:<30} {held / 1e6:>13.1f} MB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for program in "millrace", "dedup", "similar":
        parser.add_argument(f"--{program}", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, required=True)
    parser.add_argument("--images", type=pathlib.Path)
    parser.add_argument("--parts", default="measure,model,auto,report")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--megabytes", type=int, default=160, help="of the tar, in measure")
    parser.add_argument("--auto-megabytes", type=int, default=200, help="of the tar, in auto")
    parser.add_argument("--times-over", type=int, default=4, help="how often auto asks about each photograph")
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    samples = Samples(options.keep / "samples.jsonl")
    parts = options.parts.split(",")
    if options.dedup is None and options.similar is None:
        sys.exit("give --dedup or --similar, the path of millrace-dedup or millrace-similar")
    if "model" in parts and options.millrace is None:
        sys.exit("give --millrace, the path of millrace, which predicts")
    for program in "dedup", "similar":
        if getattr(options, program) is None:
            continue

        def work(large=False, program=program):
            if program == "dedup":
                return Dedup(options, options.auto_megabytes if large else options.megabytes)
            return Similar(options, options.times_over if large else 1)

        if "measure" in parts:
            measure(work(), options, samples)
        if "model" in parts:
            compare_model(work(), options, samples)
        if "auto" in parts:
            auto(work(large=True), options, samples)
        if "report" in parts:
            report_auto(work(), samples)


if __name__ == "__main__":
    main()
