"""Compares the speed of the GStreamer element with the program's computation: scripts/test_gstreamer bench [frames].

usage: element_bench.py MILLRACE PLUGIN_FOLDER [FRAMES]

Measures alternately, on frames of 1920x1080: the time of a frame in the element, by GStreamer's latency tracer, and
the computing time of `millrace run` on generated frames. Both use the same schedule. The output is medians over
rounds.
"""

import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

MILLRACE, PLUGINS = sys.argv[1:3]
FRAMES = int(sys.argv[3]) if len(sys.argv) > 3 else 200
ROUNDS = 5
OPTIONS = {"structure": "tiled", "fusion": "none", "no-profile": "true"}


def in_the_element(pipeline, threads, folder):
    """Seconds of each frame, without the first ones, which touch memory for the first time."""
    environment = os.environ | {"GST_PLUGIN_PATH": PLUGINS, "GST_REGISTRY": str(folder / "registry"), "GST_DEBUG_NO_COLOR": "1",
                                "GST_TRACERS": "latency(flags=element)", "GST_DEBUG": "GST_TRACER:7"}
    options = ",".join(f"{name}={value}" for name, value in OPTIONS.items())
    told = subprocess.run(["gst-launch-1.0", "-q", "videotestsrc", "pattern=black", f"num-buffers={FRAMES}", "!",
                           "video/x-raw,format=I420,width=1920,height=1080", "!", "millrace", "name=measured",
                           f"pipeline={pipeline}", f"threads={threads}", f"options={options}", "!", "fakesink"],
                          check=True, capture_output=True, text=True, env=environment).stderr
    times = [int(time) * 1e-9 for time in re.findall(r"element-latency, .*element=\(string\)measured,.* time=\(guint64\)(\d+)", told)]
    assert len(times) > FRAMES / 2, told[:2000]
    return statistics.median(times[len(times) // 10:])


def computing(pipeline, threads, folder):
    report = folder / "report.json"
    options = [word for name, value in OPTIONS.items() for word in ([f"--{name}"] if value == "true" else [f"--{name}", value])]
    subprocess.run([MILLRACE, "run", pipeline, f"test:1920x1080@{FRAMES}", "-o", "null", "-q", "-y", "--json", report,
                    "--threads", str(threads), *options], check=True)
    return json.loads(report.read_text())["compute_seconds"] / FRAMES


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for pipeline in "threshold(0.5)", "blur | [sobel_x, sobel_y] | magnitude", "blur | rotate(6)":
            for threads in 1, 2:
                rounds = [(in_the_element(pipeline, threads, folder), computing(pipeline, threads, folder))
                          for _ in range(ROUNDS)]
                element, program = (1e3 * statistics.median(column) for column in zip(*rounds))
                speed = statistics.median(computed / passed for passed, computed in rounds)
                print(f"{pipeline}, {threads} thread{'s' * (threads > 1)}: {element:.2f} ms a frame in the element, "
                      f"{program:.2f} ms computing in the program, {speed:.2f} of its speed", flush=True)


if __name__ == "__main__":
    main()
