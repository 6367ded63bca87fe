"""Measures whole runs, from the start of the process to its end, as a user waits for them.

usage: whole_run_bench.py MILLRACE files   --clips FOLDER [--pipelines @A @B blur] [--frames N] [--rounds 5]
                                           [--unpacked] [--to mp4|null] [--limit] [--caches cold]
       whole_run_bench.py MILLRACE lengths [--pipelines @A @B @G] [--sizes 352x288 1280x720] [--lengths 60 360]
                                           [--caches warm cold] [--to null|mp4] [--rounds 5] [--everything]
       whole_run_bench.py MILLRACE codecs  --clips FOLDER [--pipelines @A @B blur] [--frames N] [--rounds 5]
       all: [--by wall|processor] [--seconds S]

files: H.264 in, H.264 out (libx264, preset veryfast, crf 18). Compares `millrace run` with defaults, the same with
one thread per codec, and ffmpeg with its own equivalent filters, if it has them. FOLDER holds *.264, or other
videos.

--unpacked: convert the inputs to y4m first. --to null: no output. --caches cold: every run starts without caches.

--limit: adds a lower bound for any program that decodes with FFmpeg and encodes with libx264: the processor time of
these two alone, on frames filtered by ffmpeg, divided by the number of CPUs.

lengths: y4m in, no output. Compares `millrace run` with defaults with every fixed structure; with --to mp4, with
each at one and two encoder threads. warm: earlier runs have left kernels and, if two had the same length, a
profile. cold: no caches, for the fixed structures too. --everything: @A to @G, three more pipelines, 352x288,
1280x720 and 1920x1080, 60 to 3600 frames, which takes hours. Without options it takes some minutes.

codecs: H.264 in and out as in files. Compares `millrace run` with defaults with other numbers of decoder and
encoder threads, from one to twice the number of CPUs, and with two ways to give the filters fewer threads.

--by processor: measure processor time, including compilers. Other programs disturb it less, but it is not the time a
user waits.

The variants alternate. Ratios are taken per round, and the result is their median.

--seconds: add rounds beyond --rounds for so many seconds, if runs are short. The median of four rounds of 30 ms is
off by a tenth.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time

from measured_run import measure

BLUR = "1 2 1 2 4 2 1 2 1"
# FFmpeg filters that do the same work, with the same interpolation.
SAME_IN_FFMPEG = {
    "blur": f"convolution={BLUR}:{BLUR}:{BLUR}:{BLUR}:1/16:1/16:1/16:1/16",
    "rotate(6)": "rotate=6*PI/180",
    "@A": f"convolution=0m='{BLUR}':0rdiv=1/16,sobel=planes=1,lutyuv=y='if(gte(val,26),val,0)':u=128:v=128",
    "yuv2rgb | rgb2yuv": "format=gbrp,format=yuv420p",
    "yuv2rgb | curve([0, 0, 0.25, 0.15, 0.75, 0.85, 1, 1]) | rgb2yuv":
        "format=gbrp,curves=all=0/0 0.25/0.15 0.75/0.85 1/1,format=yuv420p",
    "@B": "lenscorrection=k1=-0.12:k2=0:i=bilinear,rotate=6*PI/180,crop=iw*0.8:ih*0.8",
}
PIPELINES = ["@A", "@B", "blur", "rotate(6)"]  # for `files`, if none are named
OWN_PIPELINES = ["blur", "rotate(6)", "blur | sobel_x | threshold(0.1) | rotate(30)"]
MOST_ROUNDS = 60
STRUCTURES = ("sequential", "tiled", "sliding", "backward-cached")


def measured_in_turns(variants, options, environment, before=lambda: None, warm_up=True):
    """Measure each variant in each round. The order rotates."""
    times = {name: [] for name in variants}
    if warm_up:
        for words in variants.values():
            measure(words, environment)
    names = list(variants)
    turn = 0
    begun = time.monotonic()
    while turn < options.rounds or turn < MOST_ROUNDS and time.monotonic() - begun < options.seconds:
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            before()
            times[name].append(measure(variants[name], environment))
        turn += 1
    return times


def in_turns(variants, options, environment, **how):
    """Seconds of each variant in each round."""
    measured = measured_in_turns(variants, options, environment, **how)
    return {name: [getattr(seconds, options.by) for seconds in values] for name, values in measured.items()}


def ratio(times, of, to):
    """How many times as fast `to` is as `of`."""
    return statistics.median(a / b for a, b in zip(times[of], times[to]))


def fastest(times, rounds):
    """The fixed setting with the best median in these rounds."""
    return min((name for name in times if name != "default"),
               key=lambda name: statistics.median([times[name][turn] for turn in rounds]))


def share_of_best(times):
    """The default's speed relative to the best fixed setting. The best one is chosen in the other half of the rounds,
    to avoid selection bias: the fastest of four owes part of its lead to chance."""
    turns = range(len(times["default"]))
    halves = [[turn for turn in turns if turn % 2 == rest] for rest in (0, 1)]
    return statistics.median(times[fastest(times, chosen_by)][turn] / times["default"][turn]
                             for chosen_by, judged in (halves, reversed(halves)) for turn in judged)


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def print_summary(what, values):
    if values:
        print(f"{what}: geometric mean {geometric_mean(values):.2f}, worst {min(values):.2f}")


def clips_of(options):
    clips = sorted(path for path in pathlib.Path(options.clips).iterdir()
                   if path.suffix in (".264", ".mp4", ".mkv", ".mov"))
    if not clips:
        raise SystemExit(f"whole_run_bench: {options.clips} holds no *.264, *.mp4, *.mkv or *.mov")
    return clips


def limit(options, word="--frames"):
    return [word, str(options.frames)] if options.frames else []


def codecs_alone(clip, pipeline, encoding, options, folder, environment):
    """Commands that only decode the clip, and only encode the filtered frames."""
    ffmpeg = ["ffmpeg", "-v", "error", "-nostdin", "-y"]
    filtered = folder / "filtered.y4m"
    measure([*ffmpeg, "-i", clip, *limit(options, "-frames:v"), "-vf", SAME_IN_FFMPEG[pipeline], "-pix_fmt", "yuv420p",
             filtered], environment)
    return {"decoding": [*ffmpeg, "-i", clip, *limit(options, "-frames:v"), "-f", "null", "-"],
            "encoding": [*ffmpeg, "-i", filtered, *encoding]}


def files(options, folder, environment):
    nothing_out = options.to == "null"
    if options.limit and (nothing_out or options.unpacked):
        raise SystemExit("whole_run_bench: --limit is of runs that decode and encode: without --unpacked and --to null")
    cpus = len(os.sched_getaffinity(0))
    cache = pathlib.Path(environment["XDG_CACHE_HOME"])
    output = "null" if nothing_out else folder / "out.mp4"
    ffmpeg_output = ["-f", "null", "-"] if nothing_out else ["-c:v", "libx264", "-preset", "veryfast", "-crf", "18",
                                                            "-pix_fmt", "yuv420p", folder / "ffmpeg.mp4"]
    print(f"{'clip':<20} {'pipeline':<10} {'default':>9} {'1 thread':>9} {'ffmpeg':>9} {'to 1 thread':>12} "
          f"{'to ffmpeg':>10}{'   limit   of it  ffmpeg to it' if options.limit else ''}")
    against_one, against_ffmpeg, of_limit, limit_to_ffmpeg = [], [], [], []
    for clip in clips_of(options):
        if options.unpacked:
            packed, clip = clip, folder / f"{clip.stem}.y4m"
            measure(["ffmpeg", "-v", "error", "-i", packed, *limit(options, "-frames:v"), clip], environment)
        for pipeline in options.pipelines or PIPELINES:
            run = [options.program, "run", pipeline, clip, "-o", output, "-y", "-q", *limit(options)]
            variants = {"default": run,
                        "1 thread": [*run, "--decoder-threads", "1", "--encoder-threads", "1"]}
            if pipeline in SAME_IN_FFMPEG:
                variants["ffmpeg"] = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", clip,
                                      *limit(options, "-frames:v"),
                                      "-vf", SAME_IN_FFMPEG[pipeline], *ffmpeg_output]
            if options.limit and pipeline in SAME_IN_FFMPEG:
                variants |= codecs_alone(clip, pipeline, ffmpeg_output, options, folder, environment)
            if options.caches == ["cold"]:
                measured = measured_in_turns(variants, options, environment, before=lambda: forget(cache), warm_up=False)
            else:
                measured = measured_in_turns(variants, options, environment)
            times = {name: [getattr(seconds, options.by) for seconds in values] for name, values in measured.items()}
            if "decoding" in times:
                times["limit"] = [(decoding.processor + encoding.processor) / cpus
                                  for decoding, encoding in zip(measured["decoding"], measured["encoding"])]
            medians = {name: statistics.median(values) for name, values in times.items()}
            one = ratio(times, "1 thread", "default")
            against_one.append(one)
            line = f"{clip.name:<20} {pipeline:<10} {medians['default']:>8.3f}s {medians['1 thread']:>8.3f}s "
            if "ffmpeg" in times:
                other = ratio(times, "ffmpeg", "default")
                against_ffmpeg.append(other)
                line += f"{medians['ffmpeg']:>8.3f}s {one:>12.2f} {other:>10.2f}"
                if "limit" in times:
                    of_limit.append(ratio(times, "limit", "default"))
                    limit_to_ffmpeg.append(ratio(times, "ffmpeg", "limit"))
                    line += f" {medians['limit']:>7.3f}s {of_limit[-1]:>6.2f} {limit_to_ffmpeg[-1]:>13.2f}"
            else:
                line += f"{'':>9} {one:>12.2f}"
            print(line, flush=True)
        if options.unpacked:
            clip.unlink()
    print_summary("default against one thread for each codec", against_one)
    print_summary("default against ffmpeg", against_ffmpeg)
    print_summary("of the limit", of_limit)
    print_summary("what would be the limit against ffmpeg", limit_to_ffmpeg)


def codecs(options, folder, environment):
    cpus = len(os.sched_getaffinity(0))
    decoders, encoders = sorted({1, cpus, 2 * cpus}), sorted({1, cpus, math.ceil(1.5 * cpus), 2 * cpus})
    shares = []
    for clip in clips_of(options):
        for pipeline in options.pipelines or PIPELINES:
            run = [options.program, "run", pipeline, clip, "-o", folder / "out.mp4", "-y", "-q", *limit(options)]
            variants = {"default": run}
            for decoder in decoders:
                for encoder in encoders:
                    variants[f"{decoder} and {encoder}"] = [*run, "--decoder-threads", str(decoder),
                                                            "--encoder-threads", str(encoder)]
            for encoder in (cpus, 2 * cpus):
                variants[f"{cpus} and {encoder}, filters 1"] = [*variants[f"{cpus} and {encoder}"], "--threads", "1"]
            times = in_turns(variants, options, environment)
            shares.append(share_of_best(times))
            print(f"{clip.name}, {pipeline}: share of the best {shares[-1]:.2f}; medians, seconds, by threads of the "
                  "decoder and of the encoder:")
            for name, values in sorted(times.items(), key=lambda item: statistics.median(item[1])):
                print(f"  {name:<20} {statistics.median(values):.3f} ({min(values):.3f} to {max(values):.3f})", flush=True)
    print_summary("default against the best numbers of codec threads", shares)


def forget(cache):
    for path in sorted(cache.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()


def bring_kernels(words, size, report, environment):
    """Run until the kernels of the schedule have been compiled and cached."""
    width, height = map(int, size.split("x"))
    frames = max(300, 2000 * 352 * 288 // (width * height))  # about a second, which compiling takes
    for _ in range(12):
        measure([*words, "--frames", str(frames), "--loop", str(frames), "--json", report, "-y"], environment)
        if json.loads(report.read_text())["stand_in_frames"] == 0:
            return


def compare_length(options, run, size, amount, target, cold, cache, environment):
    """Seconds of the default and of each fixed setting, by name, in each round."""
    codecs = (1, 2) if options.to == "mp4" else (None,)
    variants = {"default": [*run, *amount, *target]}
    for name in STRUCTURES:
        for threads in codecs:
            encoder = ["--encoder-threads", str(threads)] if threads else []
            variants[f"{name}{f', {threads}' if threads else ''}"] = [*run, *amount, *target, "--structure", name, *encoder]

    forget(cache)
    if cold:
        return in_turns(variants, options, environment, before=lambda: forget(cache), warm_up=False)
    for name in STRUCTURES:
        bring_kernels([*run, "--structure", name], size, cache.parent / "report.json", environment)
    for _ in range(2):
        measure(variants["default"], environment)
    return in_turns(variants, options, environment, warm_up=False)


def lengths(options, folder, environment):
    cache = pathlib.Path(environment["XDG_CACHE_HOME"])
    if options.everything:
        options.pipelines = options.pipelines or [*(f"@{letter}" for letter in "ABCDEFG"), *OWN_PIPELINES]
        options.sizes = options.sizes or ["352x288", "1280x720", "1920x1080"]
        options.lengths = options.lengths or [60, 120, 360, 1200, 3600]
    options.sizes, options.lengths = options.sizes or ["352x288", "1280x720"], options.lengths or [60, 360]
    target = ["-o", folder / "out.mp4", "-y"] if options.to == "mp4" else ["-o", "null"]
    print(f"{'cache':<5} {'pipeline':<10} {'size':>9} {'frames':>7} {'default':>9} {'best fixed':>11}  {'':<18} {'share':>6}")
    shares = {cache_state: [] for cache_state in options.caches}
    for size in options.sizes:
        video = folder / "in.y4m"
        # A file as large as fits in memory. Longer runs loop over it.
        whole = min(max(options.lengths), options.frames or 360)
        measure([options.program, "run", "crop(1)", f"test:{size}@{whole}", "-o", video, "-y", "-q"], environment)
        for pipeline in options.pipelines or ["@A", "@B", "@G"]:
            for length in options.lengths:
                for cache_state in options.caches:
                    run = [options.program, "run", pipeline, video, "-q"]
                    amount = ["--frames", str(length), "--loop", str(-(-length // whole))]
                    times = compare_length(options, run, size, amount, target, cache_state == "cold", cache, environment)
                    best = fastest(times, range(len(times["default"])))
                    share = share_of_best(times)
                    shares[cache_state].append(share)
                    print(f"{cache_state:<5} {pipeline:<10} {size:>9} {length:>7} "
                          f"{statistics.median(times['default']):>8.3f}s {statistics.median(times[best]):>10.3f}s  "
                          f"{best:<18} {share:>6.2f}", flush=True)
    for cache_state, values in shares.items():
        print_summary(f"default against the best fixed setting, {cache_state}", values)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].strip())
    parser.add_argument("program")
    parser.add_argument("what", choices=("files", "lengths", "codecs"))
    parser.add_argument("--clips", default="../shared/clips")
    parser.add_argument("--pipelines", nargs="+")
    parser.add_argument("--sizes", nargs="+", help="of lengths; default: 352x288 1280x720")
    parser.add_argument("--lengths", nargs="+", type=int, help="in frames; default: 60 360")
    parser.add_argument("--caches", nargs="+", choices=("warm", "cold"), help="default: warm for files, both for lengths")
    parser.add_argument("--to", choices=("null", "mp4"), help="default: mp4 for files, null for lengths")
    parser.add_argument("--unpacked", action="store_true")
    parser.add_argument("--limit", action="store_true")
    parser.add_argument("--everything", action="store_true")
    parser.add_argument("--frames", type=int, help="of a file, at most")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--by", choices=("wall", "processor"), default="wall")
    options = parser.parse_args()
    if options.what == "codecs" and options.caches or options.what == "files" and len(options.caches or []) > 1:
        parser.error("--caches: one for files, none for codecs")
    options.caches = options.caches or (["warm", "cold"] if options.what == "lengths" else ["warm"])
    if options.rounds < 2:
        parser.error("--rounds takes at least 2")
    with tempfile.TemporaryDirectory(prefix="millrace-whole-run-") as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(folder) / "cache")}
        try:
            {"files": files, "lengths": lengths, "codecs": codecs}[options.what](options, pathlib.Path(folder), environment)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
