"""Tests of the GStreamer element with gst-launch-1.0: its output must equal that of `millrace run`.

usage: test_millrace.py MILLRACE PLUGIN_FOLDER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import unittest

MILLRACE, PLUGINS = sys.argv[1:3]
# For each GStreamer format: the name in a y4m header, bytes per sample, and chroma subsampling, or None for gray.
FORMATS = {"I420": ("C420jpeg", 1, (2, 2)), "Y42B": ("C422", 1, (2, 1)), "Y444": ("C444", 1, (1, 1)),
           "GRAY8": ("Cmono", 1, None), "I420_10LE": ("C420p10", 2, (2, 2))}


def up(value, step):
    return -(-value // step) * step


def planes_of(name, width, height):
    """Return (bytes per row, rows) of each plane."""
    _, size, chroma = FORMATS[name]
    planes = [(width * size, height)]
    if chroma:
        planes += [(-(-width // chroma[0]) * size, -(-height // chroma[1]))] * 2
    return planes


def packed(data, name, width, height):
    """Remove GStreamer's padding of rows from frames."""
    _, size, chroma = FORMATS[name]
    layout = [(up(width * size, 4), up(height, chroma[1]) if chroma else height)]
    if chroma:
        layout += [(up(up(width, chroma[0]) // chroma[0] * size, 4), up(height, chroma[1]) // chroma[1])] * 2
    out, at = bytearray(), 0
    while at < len(data):
        for (row, rows), (stride, there) in zip(planes_of(name, width, height), layout):
            for y in range(rows):
                out += data[at + y * stride:at + y * stride + row]
            at += stride * there
    return bytes(out)


class Element(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = dict(os.environ) | {
            "GST_PLUGIN_PATH": PLUGINS, "GST_REGISTRY": str(self.folder / "registry"),
            "XDG_CACHE_HOME": str(self.folder), "G_DEBUG": "fatal-criticals"}

    def launch(self, *words):
        done = subprocess.run(["gst-launch-1.0", *words], capture_output=True, text=True, timeout=60, env=self.environment)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stdout}{done.stderr}")
        self.assertNotRegex(done.stderr, "CRITICAL|WARNING")
        return done.stdout + done.stderr

    def refused(self, *words):
        """Return the error message. gst-launch-1.0 may hang if an error comes during start-up, as with `identity
        error-after=1`. It is then ended."""
        with subprocess.Popen(["gst-launch-1.0", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=self.environment) as launched:
            waits = threading.Timer(5, launched.kill)
            waits.start()
            told = launched.communicate(timeout=60)[0]
            waits.cancel()
        self.assertNotEqual(launched.returncode, 0, told)
        self.assertNotRegex(told, "CRITICAL")
        return told

    def source(self, name, width, height, frames):
        """Return a packed test picture, and the arguments that make it."""
        words = ("videotestsrc", f"num-buffers={frames}", "pattern=zone-plate", "kx2=20", "ky2=20", "kt=3", "!",
                 f"video/x-raw,format={name},width={width},height={height},framerate=30/1")
        plain = self.folder / "plain.raw"
        self.launch("-q", *words, "!", "filesink", f"location={plain}")
        return packed(plain.read_bytes(), name, width, height), words

    def made_by_millrace(self, pipeline, name, width, height, frames, second=(), aspect=None):
        """Return the program's y4m output: its size, the data after the header, and the header."""
        y4m = self.folder / "in.y4m"
        size = sum(row * rows for row, rows in planes_of(name, width, height))
        self.assertEqual(len(frames) % size, 0)
        header = f"YUV4MPEG2 W{width} H{height} F30:1 Ip {f'A{aspect} ' if aspect else ''}{FORMATS[name][0]}\n".encode()
        y4m.write_bytes(header + b"".join(b"FRAME\n" + frames[at:at + size] for at in range(0, len(frames), size)))
        made = subprocess.run([MILLRACE, "run", pipeline, y4m, *second, "-o", "-", "--no-profile"], check=True,
                              capture_output=True, timeout=60, env=self.environment).stdout
        first, rest = made.split(b"\n", 1)
        width, height = (int(re.search(rf" {what}(\d+)", first.decode())[1]) for what in "WH")
        return (width, height), rest, first

    def of_millrace(self, *words):
        (width, height), rest, header = self.made_by_millrace(*words)
        return width, height, b"".join(frame.split(b"\n", 1)[1] for frame in self.split(rest, header))

    @staticmethod
    def split(data, header):
        """Split the data after a header into frames, each with its FRAME line."""
        kind = re.search(rb" C(\S+)", header)[1].decode()
        name = next((name for name, (told, _, _) in FORMATS.items() if told[1:] == kind), None)
        if name is None:
            name = "I420" if kind.startswith("420") else {"mono": "GRAY8"}[kind]
        width, height = (int(re.search(rb" %s(\d+)" % what, header)[1]) for what in (b"W", b"H"))
        size = sum(row * rows for row, rows in planes_of(name, width, height)) + len(b"FRAME\n")
        return [data[at:at + size] for at in range(0, len(data), size)]

    def test_frames_are_those_of_the_program_in_every_format(self):
        for name in FORMATS:
            for pipeline, width, height in (("blur | rotate(6)", 64, 48), ("crop(0.5) | blur", 51, 37)):
                with self.subTest(format=name, pipeline=pipeline):
                    frames, words = self.source(name, width, height, 7)
                    wide, high, expected = self.of_millrace(pipeline, name, width, height, frames)
                    out = self.folder / "out.raw"
                    self.launch("-q", *words, "!", "millrace", f"pipeline={pipeline}", "options=no-profile", "!",
                                f"video/x-raw,format={name},width={wide},height={high}", "!", "filesink", f"location={out}")
                    self.assertEqual(packed(out.read_bytes(), name, wide, high), expected)

    def test_a_second_video_is_read_beside_the_stream(self):
        frames, words = self.source("I420", 64, 48, 7)
        second = self.folder / "second.y4m"
        subprocess.run([MILLRACE, "run", "blur", "test:64x48@7", "-o", second, "--no-profile"], check=True, capture_output=True,
                       timeout=60, env=self.environment)
        pipeline = "[input, second] | blend(multiply, 0.5)"
        _, _, expected = self.of_millrace(pipeline, "I420", 64, 48, frames, [second])
        for live in (), ("is-live=true",):
            out = self.folder / "out.raw"
            self.launch("-q", words[0], *live, *words[1:], "!", "millrace", f"pipeline={pipeline}",
                        f"options=no-profile,second={second}", "!", "filesink", f"location={out}")
            self.assertEqual(packed(out.read_bytes(), "I420", 64, 48), expected)

    def test_what_is_gray_comes_out_gray(self):
        frames, words = self.source("I420", 64, 48, 3)
        wide, high, expected = self.of_millrace("blur | [sobel_x, sobel_y] | magnitude", "I420", 64, 48, frames)
        out = self.folder / "out.raw"
        told = self.launch("-v", *words, "!", "millrace", "pipeline=blur | [sobel_x, sobel_y] | magnitude", "name=m", "!",
                           "filesink", f"location={out}")
        name = re.search(r"m\.GstPad:src: caps = .*?format=\(string\)(\w+)", told)[1]
        self.assertEqual(packed(out.read_bytes(), name, wide, high), expected)

    def test_every_frame_comes_out_with_its_time(self):
        for live in "false", "true":
            told = self.launch("-v", "videotestsrc", "num-buffers=9", f"is-live={live}", "!",
                               "video/x-raw,format=I420,width=64,height=48,framerate=50/1", "!", "millrace",
                               "pipeline=blur", "!", "fakesink", "silent=false", "sync=false")
            times = [float(second) for second in re.findall(r"chain.*?pts: 0:00:([\d.]+), duration", told)]
            self.assertEqual([round((one - times[0]) * 1000) for one in times], list(range(0, 180, 20)), told)

    def test_a_report_is_there_once_the_run_is_over(self):
        told = self.launch("-v", "videotestsrc", "num-buffers=5", "!", "video/x-raw,format=GRAY8,width=64,height=48", "!",
                           "millrace", "pipeline=blur", "threads=1", "!", "fakesink")
        self.assertRegex(told, r'(?s)report = .*"frames": 5\b')

    def test_the_shape_of_samples_is_that_of_the_program(self):
        frames, words = self.source("I420", 64, 48, 2)
        for pipeline in "crop(0.5)", "resize(32, 48)", "resize(0, 24)", "transpose", "blur":
            with self.subTest(pipeline=pipeline):
                _, _, header = self.made_by_millrace(pipeline, "I420", 64, 48, frames, aspect="12:11")
                expected = re.search(rb" A(\d+):(\d+)", header)
                told = self.launch("-v", *words[:-1], words[-1] + ",pixel-aspect-ratio=12/11", "!", "millrace", "name=m",
                                   f"pipeline={pipeline}", "options=no-profile", "!", "fakesink")
                got = re.search(r"m\.GstPad:src: caps = .*?pixel-aspect-ratio=\(fraction\)(\d+)/(\d+)", told)
                self.assertEqual(got.groups(), tuple(number.decode() for number in expected.groups()))

    def test_mistakes_are_told_in_one_line(self):
        source = ("videotestsrc", "num-buffers=2", "!", "video/x-raw,format=I420,width=64,height=48")
        for words, expected in ((("pipeline=bluur",), "did you mean 'blur'"), ((), "no pipeline; set the property"),
                                (("pipeline=blur", "options=structur=tiled"), "did you mean 'structure'"),
                                (("pipeline=temporal_median",), "reads 1 frames ahead"),
                                (("pipeline=blur", "options=structure=spiral"), "spiral"),
                                *((("pipeline=blur", f"options=no-profile,{option}=1"), f"the option '{option}'")
                                  for option in ("start", "end", "frames", "frames-in-flight", "loop"))):
            told = self.refused(*source, "!", "millrace", *words, "!", "fakesink")
            self.assertIn(expected, told)
        told = self.refused("videotestsrc", "num-buffers=2", "!", "video/x-raw,format=I420,width=64,height=48,"
                            "interlace-mode=interleaved", "!", "millrace", "pipeline=blur", "!", "fakesink")
        self.assertIn("deinterlace", told)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
