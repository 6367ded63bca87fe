#!/usr/bin/env python3
"""Measures tables IV and VII of the UDispatch+ paper on this machine: speed-ups of millrace-skipline by pinning its
threads.

    placement_bench.py MILLRACE SKIPLINE [--rounds 9] [--executions 25] [--threads 4] [--birth ptrace]

MILLRACE and SKIPLINE are the programs. The script makes an image of text of 1920x1080 pixels. Each variant encodes
and decodes it: with the kernel's placement (NoB), one-to-one (1-1+) and main-least-loaded (M-L+). The three
alternate, execution by execution.

A time is the program's own figure for creating the threads, working and joining them. Each round of `executions`
gives a median, and from it the paper's speed-up in percent, (time of one / time of the other - 1) * 100. The output
is the median and quartiles over rounds, next to the paper's figures for four threads on four cores.
"""

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

WIDTH, HEIGHT = 1920, 1080
BINDINGS = {"NoB": None, "1-1+": "one-to-one", "M-L+": "main-least-loaded"}
COMPARED = (("NoB", "M-L+"), ("1-1+", "M-L+"), ("NoB", "1-1+"))
# Table IV: UDispatch+, compared as above.
PAPER = {
    "basic": {"encode": (121.5, 30.6, 69.6), "decode": (88.2, 0.7, 86.9)},
    "swing": {"encode": (171.8, 24.2, 118.9), "decode": (49.7, 1.1, 48.0)},
    "tow": {"encode": (149.2, 24.6, 100.1), "decode": (74.5, 1.9, 71.2)},
}
# Table VII: NoB against M-L and NoB against 1-1 of UDispatch. The programs place their own threads.
PAPER_VII = {
    "basic": {"encode": (115.5, 27.4), "decode": (84.9, 82.5)},
    "swing": {"encode": (166.1, 35.7), "decode": (46.8, 45.0)},
    "tow": {"encode": (147.1, 92.0), "decode": (70.5, 70.4)},
}


def write_text_image(path):
    """Write lines of letters made of strokes, as PBM P4. The image is the same on every machine."""
    source = random.Random(1)
    rows = [bytearray(WIDTH // 8) for _ in range(HEIGHT)]

    def fill(left, top, width, height):
        for y in range(top, min(top + height, HEIGHT)):
            for x in range(left, min(left + width, WIDTH)):
                rows[y][x // 8] |= 0x80 >> (x % 8)

    for top in range(40, HEIGHT - 40, 28):
        for left in range(60, WIDTH - 60, 14):
            if source.random() < 0.17:
                continue  # between words
            for _ in range(source.randint(2, 4)):
                if source.random() < 0.5:
                    fill(left + source.randint(0, 8), top, 2, 18)
                else:
                    fill(left, top + source.randint(0, 16), 10, 2)
    with open(path, "wb") as image:
        image.write(b"P4\n%d %d\n" % (WIDTH, HEIGHT) + b"".join(rows))


def time_ms(command):
    """Return the time that the program prints."""
    done = subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    found = re.search(r"([0-9.]+) ms$", done.stderr.strip())
    if not found:
        sys.exit(f"no time in: {done.stderr}")
    return float(found[1])


def speed_ups(commands, rounds, executions):
    """Return the median and quartiles over rounds of each speed-up, and NoB's time."""
    names = list(commands)
    times = {name: [] for name in names}
    for _ in range(rounds):
        of_round = {name: [] for name in names}
        for turn in range(executions):
            shift = turn % len(names)
            for name in names[shift:] + names[:shift]:
                of_round[name].append(time_ms(commands[name]))
        for name in names:
            times[name].append(statistics.median(of_round[name]))
    columns = []
    for slow, fast in COMPARED:
        values = [100 * (a / b - 1) for a, b in zip(times[slow], times[fast])]
        low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
        columns.append(f"{middle:+.1f} ({low:+.1f} to {high:+.1f})")
    return columns, statistics.median(times["NoB"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("millrace")
    parser.add_argument("skipline")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--executions", type=int, default=25)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--birth", default="ptrace", choices=("ptrace", "poll"))
    parser.add_argument("--variants", default="basic,swing,tow")
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds wants 2 or more")
    millrace, skipline = os.path.abspath(options.millrace), os.path.abspath(options.skipline)
    print(f"{options.threads} threads, {os.cpu_count()} CPUs, births by {options.birth}; speed-up in percent: median"
          " (quartiles), the paper's in brackets")
    print("| variant | | NoB / M-L+ | 1-1+ / M-L+ | NoB / 1-1+ | NoB, ms | [table VII: NoB / M-L, NoB / 1-1] |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="millrace-skipline-") as work:
        image = f"{work}/text.pbm"
        write_text_image(image)
        for variant in options.variants.split(","):
            encoded = f"{work}/{variant}.skl"
            encode = [skipline, "encode", image, encoded, "-y", "--variant", variant, "--threads", str(options.threads)]
            subprocess.run([*encode, "-q"], check=True)
            verbs = {"encode": encode, "decode": [skipline, "decode", encoded, f"{work}/back.pbm", "-y"]}
            for verb, command in verbs.items():
                commands = {
                    name: command if policy is None else
                    [millrace, "exec", "--quiet", "--birth", options.birth, "--policy", policy, "--", *command]
                    for name, policy in BINDINGS.items()
                }
                columns, base = speed_ups(commands, options.rounds, options.executions)
                beside = " | ".join(f"{own} [{paper:+.1f}]" for own, paper in zip(columns, PAPER[variant][verb]))
                main_least_loaded, one_to_one = PAPER_VII[variant][verb]
                print(f"| {variant} | {verb} | {beside} | {base:.3f} | [{main_least_loaded:+.1f}, {one_to_one:+.1f}] |",
                      flush=True)


if __name__ == "__main__":
    main()
