"""Compares single filters with their counterparts in OpenCV and FFmpeg.

    filters_compare.py LIBRARY [--filters median,resize,...] [--size 1920x1080] [--threads 2] [--rounds N] [--ffmpeg PROGRAM]
                       [--isa avx2]

One gray picture of 8 bits, the best case of both others. All get the same number of threads. Our filters and
OpenCV's read preallocated memory, with separate memory for other frames and second videos, and alternate. The
fastest of a few of our schedules is kept, as the adaptive scheduler would do. FFmpeg reads the picture repeatedly
from a file in memory and writes no output. The time of the same run without the filter is subtracted. Each line
gives medians, and the other's time relative to ours. A dash means that there is no counterpart, or that it computes
something else.
"""

import argparse
import ctypes
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

from compare import batch_size, load_library, picture_of, seconds_of

SCHEDULES = (("sequential", "pointwise", "0x0"), ("tiled", "pointwise", "128x32"), ("tiled", "pointwise", "512x16"),
             ("tiled", "pointwise", "512x64"), ("tiled", "stencil", "256x32"), ("tiled", "none", "512x64"), ("sliding", "pointwise", "0x8"))


def filters(cv2, np, width, height):
    """(pipeline, OpenCV call, FFmpeg filter)"""
    half = (width // 2, height // 2)
    twice = (width * 3 // 2, height * 3 // 2)
    ramp = np.arange(256) / 255
    gamma = np.clip(255 * np.clip((ramp - 0.1) / 0.8, 0, 1) ** (1 / 2.2) + 0.5, 0, 255).astype(np.uint8)
    square = cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3))
    edges = np.array([[0, 1, 0], [2, -3, 1], [0, 5, 0]], np.float32) / 6
    center = ((width - 1) / 2, (height - 1) / 2)
    turn = cv2.getRotationMatrix2D(center, -6, 1)

    other = None  # as a second video

    def beside(call):
        def with_other(source, to):
            nonlocal other
            if other is None:
                other = source.copy()
            return call(source, other, to)
        return with_other

    def edge_strength(source, to):
        x, y = cv2.Sobel(source, cv2.CV_32F, 1, 0), cv2.Sobel(source, cv2.CV_32F, 0, 1)
        return cv2.convertScaleAbs(cv2.magnitude(x, y), dst=to)

    def pasted(source, other, to):
        np.copyto(to, source)
        to[64:, 64:] = other[:-64, :-64]

    def of_two(graph):
        return f"split[a][b];[a][b]{graph}"
    corners = np.float32([[0, 0], [width, 0], [0, height], [width, height]])
    seen = np.float32([[40, 20], [width - 60, 0], [0, height - 30], [width - 10, height]])
    homography = cv2.getPerspectiveTransform(corners, seen)
    half_diagonal = math.hypot(*center)
    columns, rows = np.meshgrid(np.arange(width), np.arange(height))
    dx, dy = (columns - center[0]) / half_diagonal, (rows - center[1]) / half_diagonal
    factor = 1 - 0.12 * (dx * dx + dy * dy)
    lens = cv2.convertMaps((center[0] + half_diagonal * dx * factor).astype(np.float32),
                           (center[1] + half_diagonal * dy * factor).astype(np.float32), cv2.CV_16SC2)
    steps = np.round(np.round(ramp * 7) / 7 * 255).astype(np.uint8)

    def unsharp(source, to):
        smooth = cv2.GaussianBlur(source, (0, 0), 1.5)
        return cv2.addWeighted(source, 2, smooth, -1, 0, dst=to)

    def resized(kernel, size):
        return lambda s, to: cv2.resize(s, size, interpolation=kernel)
    return [
        ("blur", lambda s, to: cv2.GaussianBlur(s, (3, 3), 0, dst=to), "convolution='1 2 1 2 4 2 1 2 1'"),
        ("gaussian(1)", lambda s, to: cv2.GaussianBlur(s, (7, 7), 1, dst=to), "gblur=sigma=1"),
        ("gaussian(3)", lambda s, to: cv2.GaussianBlur(s, (19, 19), 3, dst=to), "gblur=sigma=3"),
        ("box(2)", lambda s, to: cv2.blur(s, (5, 5), dst=to), "avgblur=sizeX=2"),
        ("unsharp(1.5, 1)", unsharp, "unsharp=9:9:1"),
        ("convolve([0, 1, 0, 2, -3, 1, 0, 5, 0])", lambda s, to: cv2.filter2D(s, -1, edges, dst=to),
         "convolution='0 1 0 2 -3 1 0 5 0'"),
        ("median", lambda s, to: cv2.medianBlur(s, 3, dst=to), "median=radius=1"),
        ("median(2)", lambda s, to: cv2.medianBlur(s, 5, dst=to), "median=radius=2"),
        ("morphology(erode)", lambda s, to: cv2.erode(s, square, dst=to), "erosion"),
        ("morphology(open)", lambda s, to: cv2.morphologyEx(s, cv2.MORPH_OPEN, square, dst=to), "erosion,dilation"),
        ("levels(0.1, 0.9, 2.2)", lambda s, to: cv2.LUT(s, gamma, dst=to),
         "lutyuv=y='255*pow(clip((val/255-0.1)/0.8,0,1),1/2.2)'"),
        ("threshold(0.5)", lambda s, to: cv2.threshold(s, 127, 255, cv2.THRESH_TOZERO, dst=to), "lutyuv=y='if(gte(val,128),val,0)'"),
        ("flip(horizontal)", lambda s, to: cv2.flip(s, 1, dst=to), "hflip"),
        ("flip(vertical)", lambda s, to: cv2.flip(s, 0, dst=to), None),  # FFmpeg's only changes a sign
        ("transpose", lambda s, to: cv2.rotate(s, cv2.ROTATE_90_CLOCKWISE), "transpose=clock"),
        ("pad(16, 16, 16, 16)", lambda s, to: cv2.copyMakeBorder(s, 16, 16, 16, 16, cv2.BORDER_CONSTANT),
         "pad=iw+32:ih+32:16:16"),
        (f"resize({half[0]}, {half[1]}, area)", resized(cv2.INTER_AREA, half), f"scale={half[0]}:{half[1]}:flags=area"),
        (f"resize({twice[0]}, {twice[1]}, bilinear)", resized(cv2.INTER_LINEAR, twice),
         f"scale={twice[0]}:{twice[1]}:flags=bilinear"),
        (f"resize({twice[0]}, {twice[1]}, bicubic)", resized(cv2.INTER_CUBIC, twice),
         f"scale={twice[0]}:{twice[1]}:flags=bicubic"),
        (f"resize({half[0]}, {half[1]}, lanczos3)", None, f"scale={half[0]}:{half[1]}:flags=lanczos"),
        ("rotate(6)", lambda s, to: cv2.warpAffine(s, turn, (width, height), dst=to), "rotate=6*PI/180"),
        (f"perspective([{', '.join(str(int(v)) for v in seen.ravel())}])",
         lambda s, to: cv2.warpPerspective(s, homography, (width, height), dst=to, flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP),
         "perspective=" + ":".join(str(int(v)) for v in seen.ravel())),
        ("undistort(-0.12)", lambda s, to: cv2.remap(s, *lens, cv2.INTER_LINEAR, dst=to), "lenscorrection=k1=-0.12:i=bilinear"),
        ("crop_at(64, 64, 1024, 640)", lambda s, to: np.copyto(to[:640, :1024], s[64:704, 64:1088]), None),
        ("[sobel_x, sobel_y] | magnitude", edge_strength, "sobel"),
        ("discretise(8)", lambda s, to: cv2.LUT(s, steps, dst=to), "lutyuv=y='round(val/255*7)/7*255'"),
        ("binary", lambda s, to: cv2.threshold(s, 0, 255, cv2.THRESH_BINARY, dst=to), "lutyuv=y='if(val,255,0)'"),
        ("curve([0, 0, 0.4, 0.6, 1, 1])", lambda s, to: cv2.LUT(s, gamma, dst=to), None),
        ("bilateral(2, 0.1)", lambda s, to: cv2.bilateralFilter(s, 0, 25.5, 2, dst=to), None),  # FFmpeg's approximates
        ("[input, second] | blend(average)", beside(lambda s, o, to: cv2.addWeighted(s, 0.5, o, 0.5, 0, dst=to)),
         of_two("blend=all_mode=average")),
        ("[input, second] | blend(add)", beside(lambda s, o, to: cv2.add(s, o, dst=to)), of_two("blend=all_mode=addition")),
        ("[input, second] | blend(difference)", beside(lambda s, o, to: cv2.absdiff(s, o, dst=to)),
         of_two("blend=all_mode=difference")),
        ("[input, second] | blend(darken)", beside(lambda s, o, to: cv2.min(s, o, dst=to)), of_two("blend=all_mode=darken")),
        ("[input, second] | blend(multiply)", beside(lambda s, o, to: cv2.multiply(s, o, dst=to, scale=1 / 255)),
         of_two("blend=all_mode=multiply")),
        ("[input, second] | blend(overlay)", None, of_two("blend=all_mode=overlay")),
        ("[input, second] | overlay(64, 64)", beside(pasted), None),  # FFmpeg's takes no gray
        ("difference", beside(lambda s, o, to: cv2.absdiff(s, o, dst=to)), "tblend=all_mode=difference"),
        ("temporal_average(3)", None, "tmix=frames=3"),
        ("temporal_median", None, "tmedian=radius=1"),
        ("deinterlace", None, "yadif=parity=tff"),
    ]


class FFmpeg:
    """Frames through a filter graph, from a file in memory to nowhere."""

    def __init__(self, program, picture, threads, folder):
        self.program, self.threads = program, threads
        self.height, self.width = picture.shape
        self.path = os.path.join(folder, "frame.gray")
        picture.tofile(self.path)
        self.nothing = {}

    def seconds(self, graph, frames):
        command = [self.program, "-v", "error", "-nostdin", "-filter_threads", str(self.threads), "-stream_loop",
                   str(frames - 1), "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{self.width}x{self.height}",
                   "-i", self.path, "-vf", graph, "-f", "null", "-"]
        start = time.perf_counter()
        subprocess.run(command, check=True)
        return time.perf_counter() - start

    def frame_seconds(self, graph, frames=40):
        """Time per frame, minus the time without a filter. Uses more frames if the difference is tiny."""
        times = []
        for _ in range(3):
            few, many = self.seconds(graph, 2), self.seconds(graph, 2 + frames)
            no_few, no_many = self.seconds("null", 2), self.seconds("null", 2 + frames)
            times.append(((many - few) - (no_many - no_few)) / frames)
        seconds = statistics.median(times)
        if seconds < 3e-4 and frames < 400:
            return self.frame_seconds(graph, 400)
        return max(seconds, 1e-6)


def compare(library, cv2, np, picture, entry, threads, rounds, isa):
    """Return our time and schedule, and OpenCV's time if it has the filter."""
    pipeline, call, _ = entry
    height, width = picture.shape
    ours = library.ours_open_codes(pipeline.encode(), width, height, threads,
                                   picture.ctypes.data_as(ctypes.c_void_p))
    if not ours or (isa and not library.ours_use_isa(ours, isa.encode())):
        sys.exit("compare: " + library.last_error().decode())

    def run_ours(times):
        return library.ours_run(ours, times) * 1e-9

    def use(schedule):
        return library.ours_set(ours, *(word.encode() for word in schedule), threads)
    tried = []
    for schedule in SCHEDULES:
        if use(schedule):
            times = batch_size(run_ours)
            tried.append((min(run_ours(times) / times for _ in range(4)), schedule, times))
    _, schedule, times = min(tried)
    use(schedule)
    to = np.empty_like(picture)
    own, theirs = [], []
    for _ in range(rounds):
        own.append(run_ours(times) / times)
        if call:
            repeats = max(1, int(0.004 / max(seconds_of(lambda: call(picture, to), 1), 1e-7)))
            theirs.append(seconds_of(lambda: call(picture, to), repeats) / repeats)
    library.ours_close(ours)
    return statistics.median(own), schedule, statistics.median(theirs) if call else None


def report(ffmpeg, entry, mine, schedule, opencvs):
    pipeline, _, graph = entry
    line = f"{pipeline:42} {1e3 * mine:8.3f} ms"
    ratios = [opencvs / mine if opencvs else None, ffmpeg.frame_seconds(graph) / mine if graph and ffmpeg else None]
    for ratio in ratios:
        line += f" {ratio:9.2f}x" if ratio else f" {'-':>10}"
    print(f"{line}   {schedule[0]} {schedule[1]} {schedule[2]}", flush=True)
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library")
    parser.add_argument("--filters", default="", help="those whose pipelines contain one of these words")
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ffmpeg", default="ffmpeg", help="the program; empty for none")
    parser.add_argument("--isa", default="", help="the instruction set of our kernels; the best there is")
    options = parser.parse_args()
    import cv2
    import numpy as np
    cv2.setNumThreads(options.threads)
    library = load_library(options.library)
    library.ours_open_codes.restype = ctypes.c_void_p
    library.ours_use_isa.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    library.ours_open_codes.argtypes = [ctypes.c_char_p] + [ctypes.c_int] * 3 + [ctypes.c_void_p]
    width, height = (int(v) for v in options.size.split("x"))
    picture = np.round(255 * picture_of(cv2, np, width, height)).astype(np.uint8)
    words = [word for word in options.filters.split(",") if word]
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        ffmpeg = FFmpeg(options.ffmpeg, picture, options.threads, folder) if options.ffmpeg else None
        print(f"{width}x{height}, gray of 8 bits, {options.threads} threads")
        print(f"{'':42} {'millrace':>11} {'OpenCV':>10} {'FFmpeg':>10}")
        chosen = [entry for entry in filters(cv2, np, width, height)
                  if not words or any(word in entry[0] for word in words)]
        # FFmpeg comes last, because its processes would disturb the next filter.
        measured = [compare(library, cv2, np, picture, entry, options.threads, options.rounds, options.isa)
                    for entry in chosen]
        found = [report(ffmpeg, entry, *times) for entry, times in zip(chosen, measured)]
        for i, peer in enumerate(("OpenCV", "FFmpeg")):
            ratios = [each[i] for each in found if each[i]]
            if ratios:
                mean = math.exp(statistics.fmean(math.log(r) for r in ratios))
                print(f"{peer}: geometric mean {mean:.2f}x, least {min(ratios):.2f}x, of {len(ratios)} filters")


if __name__ == "__main__":
    main()
