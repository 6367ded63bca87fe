"""Measures whole runs, from the start of the process to its end, as a user waits for them.

usage: whole_run_bench.py MILLRACE files   --clips FOLDER [--pipelines @A @B blur] [--frames N] [--rounds 5]
       whole_run_bench.py MILLRACE lengths [--pipelines @A @B @G] [--sizes 1280x720] [--lengths 60 120 360]
                                           [--cache warm|cold] [--rounds 5]

files: H.264 in, H.264 out (libx264, preset veryfast, crf 18): `millrace run` as it is, the same with one thread for each
codec, and ffmpeg with filters of its own that do the same, where it has such. FOLDER holds *.264, or other videos.

lengths: y4m in, nothing out: `millrace run` as it is against every fixed structure. warm: earlier runs have left profiles
and kernels; cold: nobody has run before, not even the fixed structures' kernels are there.

What is compared takes turns. Ratios are taken turn by turn; the median of them is what counts.
"""

import argparse
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BLUR = "1 2 1 2 4 2 1 2 1"
# Filters of FFmpeg that do the same work, with the same interpolation.
SAME_IN_FFMPEG = {
    "blur": f"convolution={BLUR}:{BLUR}:{BLUR}:{BLUR}:1/16:1/16:1/16:1/16",
    "rotate(6)": "rotate=6*PI/180",
    "@A": f"convolution=0m='{BLUR}':0rdiv=1/16,sobel=planes=1,lutyuv=y='if(gte(val,26),val,0)':u=128:v=128",
    "@B": "lenscorrection=k1=-0.12:k2=0:i=bilinear,rotate=6*PI/180,crop=iw*0.8:ih*0.8",
}
STRUCTURES = ("sequential", "tiled", "sliding", "backward-cached")


def seconds_of(words, environment):
    begin = time.monotonic()
    done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE)
    taken = time.monotonic() - begin
    if done.returncode != 0:
        raise SystemExit(f"whole_run_bench: {' '.join(map(str, words))}: {done.stderr.decode().strip()[-300:]}")
    return taken


def in_turns(variants, rounds, environment, before=lambda: None, warm_up=True):
    """Seconds of each variant in each round. Who begins changes from round to round."""
    times = {name: [] for name in variants}
    if warm_up:
        for words in variants.values():
            seconds_of(words, environment)
    names = list(variants)
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            before()
            times[name].append(seconds_of(variants[name], environment))
    return times


def ratio(times, of, to):
    """How many times as fast `to` is as `of`."""
    return statistics.median(a / b for a, b in zip(times[of], times[to]))


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def print_summary(what, values):
    if values:
        print(f"{what}: geometric mean {geometric_mean(values):.2f}, worst {min(values):.2f}")


def files(options, folder, environment):
    clips = sorted(path for path in pathlib.Path(options.clips).iterdir()
                   if path.suffix in (".264", ".mp4", ".mkv", ".mov"))
    if not clips:
        raise SystemExit(f"whole_run_bench: {options.clips} holds no *.264, *.mp4, *.mkv or *.mov")
    output = folder / "out.mp4"
    print(f"{'clip':<20} {'pipeline':<10} {'default':>9} {'1 thread':>9} {'ffmpeg':>9} {'to 1 thread':>12} "
          f"{'to ffmpeg':>10}")
    against_one, against_ffmpeg = [], []
    for clip in clips:
        for pipeline in options.pipelines or ["@A", "@B", "blur", "rotate(6)"]:
            run = [options.program, "run", pipeline, clip, "-o", output, "-y", "-q"]
            limit = ["--frames", str(options.frames)] if options.frames else []
            variants = {"default": run + limit,
                        "1 thread": [*run, *limit, "--decoder-threads", "1", "--encoder-threads", "1"]}
            if pipeline in SAME_IN_FFMPEG:
                variants["ffmpeg"] = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", clip,
                                      *(["-frames:v", str(options.frames)] if options.frames else []),
                                      "-vf", SAME_IN_FFMPEG[pipeline], "-c:v", "libx264", "-preset", "veryfast",
                                      "-crf", "18", "-pix_fmt", "yuv420p", folder / "ffmpeg.mp4"]
            times = in_turns(variants, options.rounds, environment)
            medians = {name: statistics.median(values) for name, values in times.items()}
            one = ratio(times, "1 thread", "default")
            against_one.append(one)
            line = f"{clip.name:<20} {pipeline:<10} {medians['default']:>8.3f}s {medians['1 thread']:>8.3f}s "
            if "ffmpeg" in times:
                other = ratio(times, "ffmpeg", "default")
                against_ffmpeg.append(other)
                line += f"{medians['ffmpeg']:>8.3f}s {one:>12.2f} {other:>10.2f}"
            else:
                line += f"{'':>9} {one:>12.2f}"
            print(line, flush=True)
    print_summary("default against one thread for each codec", against_one)
    print_summary("default against ffmpeg", against_ffmpeg)


def lengths(options, folder, environment):
    cache = pathlib.Path(environment["XDG_CACHE_HOME"])

    def forget():
        for path in sorted(cache.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    print(f"{'pipeline':<10} {'size':>9} {'frames':>7} {'default':>9} {'best fixed':>11}  {'':<16} {'share':>6}")
    shares = []
    for size in options.sizes:
        longest = max(options.lengths)
        video = folder / "in.y4m"
        # A file as large as memory allows to keep; longer runs go over it several times.
        whole = min(longest, options.frames or 360)
        seconds_of([options.program, "run", "crop(1)", f"test:{size}@{whole}", "-o", video, "-y", "-q"], environment)
        for pipeline in options.pipelines or ["@A", "@B", "@G"]:
            for length in options.lengths:
                run = [options.program, "run", pipeline, video, "-q", "--frames", str(length),
                       "--loop", str(-(-length // whole))]
                variants = {"default": run} | {name: [*run, "--structure", name] for name in STRUCTURES}
                cold = options.cache == "cold"
                if not cold:
                    for _ in range(2):
                        seconds_of(run, environment)
                times = in_turns(variants, options.rounds, environment, before=forget if cold else lambda: None,
                                 warm_up=not cold)
                best = min(STRUCTURES, key=lambda name: statistics.median(times[name]))
                share = ratio(times, best, "default")
                shares.append(share)
                print(f"{pipeline:<10} {size:>9} {length:>7} {statistics.median(times['default']):>8.3f}s "
                      f"{statistics.median(times[best]):>10.3f}s  {best:<16} {share:>6.2f}", flush=True)
    print_summary(f"default against the best fixed structure, {options.cache}", shares)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].strip())
    parser.add_argument("program")
    parser.add_argument("what", choices=("files", "lengths"))
    parser.add_argument("--clips", default="../shared/clips")
    parser.add_argument("--pipelines", nargs="+")
    parser.add_argument("--sizes", nargs="+", default=["1280x720"])
    parser.add_argument("--lengths", nargs="+", type=int, default=[60, 120, 360])
    parser.add_argument("--cache", choices=("warm", "cold"), default="warm")
    parser.add_argument("--frames", type=int, help="of a file, at most")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds takes at least 1")
    with tempfile.TemporaryDirectory(prefix="millrace-whole-run-") as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": str(pathlib.Path(folder) / "cache")}
        try:
            {"files": files, "lengths": lengths}[options.what](options, pathlib.Path(folder), environment)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
