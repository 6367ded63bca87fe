"""Compares `millrace batch` over a folder of clips with `xargs` and one `millrace run` per clip.

usage: batch_bench.py MILLRACE [--sets mixed small large one] [--rounds 3] [--clips FOLDER] [--keep FOLDER] [--by wall|processor]

mixed: 20 clips of 352x288, 1280x720 and 1920x1080, 30 to 120 frames, three pipelines, to mp4 and to nothing.

small: 20 clips of 352x288. large: 6 of 1920x1080. one: a single clip of 1280x720.

Clips are H.264, generated, or trimmed from the *.264 in FOLDER. --keep: folder in which they stay for the next
call. The same job is done by `millrace batch`, by `xargs -P` with one `millrace run` per processor, and by `xargs
-P1`. The three alternate, ratios are taken per round, and the result is the median. Kernels and profiles are warm.
Outputs are checked to be bit-identical.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from measured_run import measure

SIZES = {"small": "352x288", "middle": "1280x720", "large": "1920x1080"}
SOURCES = {"small": "foreman_cif.264", "middle": "flower_720p.264", "large": "street_1080p.264"}
PIPELINES = ["@A", "@B", "blur | sobel_x"]


def jobs_of(name):
    """Size, frames, pipeline and whether the output is kept, for each clip of a set."""
    if name == "one":
        return [("middle", 120, "@A", True)]
    if name == "large":
        return [("large", 40, PIPELINES[i % 3], i % 2 == 0) for i in range(6)]
    if name == "small":
        return [("small", 30 + 90 * (i % 4) // 3, PIPELINES[i % 3], i % 2 == 0) for i in range(20)]
    sizes = ["small", "middle", "small", "large", "middle"]
    return [(sizes[i % 5], (30, 60, 90, 120)[i % 4] if sizes[i % 5] != "large" else (30, 45)[i // 5 % 2], PIPELINES[i % 3],
             i % 5 not in (2, 4) or i % 2 == 0) for i in range(20)]


def make_clips(options, folder):
    """Make the inputs of all sets, by size and frames."""
    for name in options.sets:
        for size, frames, _, _ in jobs_of(name):
            clip = folder / f"{size}-{frames}.mp4"
            if clip.exists():
                continue
            source = pathlib.Path(options.clips) / SOURCES[size] if options.clips else None
            made = source if source and source.exists() else f"test:{SIZES[size]}@{frames}"
            subprocess.run([options.program, "run", "crop(1)", made, "--frames", str(frames), "--loop", "20" if source else "1",
                            "-o", clip, "-q", "--crf", "23"], check=True)


def prepare(options, name, folder):
    """Make a link for each input of the set. Return the commands of the variants."""
    inputs = folder / name
    inputs.mkdir(exist_ok=True)
    lines, commands = [], []
    for number, (size, frames, pipeline, kept) in enumerate(jobs_of(name)):
        clip = inputs / f"{number:02}.mp4"
        clip.unlink(missing_ok=True)
        os.link(folder / f"{size}-{frames}.mp4", clip)
        output = folder / "out" / f"{number:02}.mp4" if kept else "null"
        single = folder / "single" / f"{number:02}.mp4" if kept else "null"
        lines.append({"input": str(clip), "pipeline": pipeline, "output": str(output)})
        commands.append(f"run '{pipeline}' '{clip}' -o '{single}' -y -q")
    (folder / "jobs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "commands").write_text("\n".join(commands) + "\n")
    for made in "out", "single":
        (folder / made).mkdir(exist_ok=True)
    def with_xargs(processes):
        return ["xargs", "-P", str(processes), "-L", "1", "-a", folder / "commands", options.program]
    return {"batch": [options.program, "batch", "--job-file", folder / "jobs.jsonl", "-y", "-q", *options.batch],
            "xargs": with_xargs(len(os.sched_getaffinity(0))), "xargs -P1": with_xargs(1)}


def check_same(name, folder):
    for number, (*_, kept) in enumerate(jobs_of(name)):
        if kept:
            outputs = [(folder / made / f"{number:02}.mp4").read_bytes() for made in ("out", "single")]
            if outputs[0] != outputs[1]:
                raise SystemExit(f"batch_bench: {name}, job {number}: batch and run wrote different files")


def compare(options, name, folder, environment):
    variants = prepare(options, name, folder)
    if options.without_p1:
        del variants["xargs -P1"]
    for words in list(variants.values())[:2]:
        measure(words, environment)  # makes kernels and profiles
    check_same(name, folder)
    names = list(variants)
    times = {variant: [] for variant in names}
    for turn in range(options.rounds):
        for variant in names[turn % len(names):] + names[:turn % len(names)]:
            times[variant].append(getattr(measure(variants[variant], environment), options.by))
    line = f"{name:<6} {len(jobs_of(name)):>5}"
    for variant in names:
        line += f" {statistics.median(times[variant]):>9.2f}s"
    for variant in names[1:]:
        ratios = [a / b for a, b in zip(times[variant], times["batch"])]
        line += f" {statistics.median(ratios):>6.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    print(line, flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n\n")[0].strip())
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--sets", nargs="+", choices=("mixed", "small", "large", "one"), default=["mixed"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clips")
    parser.add_argument("--keep")
    parser.add_argument("--by", choices=("wall", "processor"), default="wall")
    parser.add_argument("--without-p1", action="store_true", help="leave out xargs -P1")
    parser.add_argument("--batch", nargs="*", default=[], help="further options of batch, each as 'side-by-side=2'")
    options = parser.parse_args()
    options.batch = [f"--{option}" for option in options.batch]
    if options.rounds < 1:
        parser.error("--rounds takes at least 1")
    with tempfile.TemporaryDirectory(prefix="millrace-batch-") as made:
        folder = pathlib.Path(options.keep or made).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
        print(f"{'set':<6} {'clips':>5} {'batch':>10} {'xargs -P':>10} {'xargs -P1':>10}   times as fast as xargs, xargs -P1")
        try:
            make_clips(options, folder)
            for name in options.sets:
                compare(options, name, folder, environment)
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
