"""millrace run with two videos: the output must equal that of FFmpeg's blend and overlay.

usage: second_video_test.py MILLRACE
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()


def run(*words, stdin=None):
    environment = os.environ | {"XDG_CACHE_HOME": CACHE.name}
    return subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=120, env=environment, stdin=stdin)


def ffmpeg(*words):
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *map(str, words)], capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


class SecondVideo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.inputs = pathlib.Path(folder.name)
        to = lambda name: cls.inputs / name
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.4", "-f", "lavfi", "-i", "testsrc=s=64x48:r=30:d=1",
               "-map", "0", "-pix_fmt", "yuv420p", to("first.y4m"),
               "-map", "1", "-frames:v", "7", "-pix_fmt", "yuv420p", to("second.y4m"),
               "-map", "1", "-frames:v", "30", "-vf", "scale=23:17", "-pix_fmt", "yuv420p", to("small.y4m"),
               "-map", "1", "-frames:v", "30", "-c:v", "ffv1", "-pix_fmt", "yuv444p10", to("other.mkv"))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def check(self, pipeline, second, graph, most, planes=(0, 1, 2)):
        """Compare 10 frames. Both videos have exact timestamps."""
        done = run("run", pipeline, self.inputs / "first.y4m", self.inputs / second, "-o", self.folder / "ours.y4m", "-y",
                   "-q", "--no-profile", "--structure", "sequential", "--fusion", "none")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        ours = ffmpeg("-i", self.folder / "ours.y4m", "-f", "rawvideo", "-")
        theirs = ffmpeg("-i", self.inputs / "first.y4m", "-i", self.inputs / second, "-filter_complex", graph,
                        "-fps_mode", "passthrough", "-frames:v", "10", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-")
        self.assertEqual((len(ours), len(theirs)), (10 * 64 * 48 * 3 // 2,) * 2)
        frame, luma = 64 * 48 * 3 // 2, 64 * 48
        for n in range(10):
            for plane in planes:
                start = n * frame + (0 if plane == 0 else luma + (plane - 1) * luma // 4)
                size = luma if plane == 0 else luma // 4
                apart = max(abs(a - b) for a, b in zip(ours[start:start + size], theirs[start:start + size]))
                self.assertLessEqual(apart, most, f"{pipeline}, frame {n}, plane {plane}")

    def test_frames_meet_by_their_times_and_the_last_one_stays(self):
        self.check("[input, second] | blend(average)", "second.y4m", "[0][1]blend=all_mode=average", 1)
        self.check("[input, second] | blend(normal, 0.25)", "second.y4m", "[0][1]blend=all_mode=normal:all_opacity=0.75", 1)
        self.check("[input, second] | blend(multiply)", "second.y4m", "[0][1]blend=all_mode=multiply", 1, (0,))

    def test_a_smaller_video_lies_over_the_first_one(self):
        self.check("[input, second] | overlay(10, 6)", "small.y4m", "[0][1]overlay=10:6", 0)
        self.check("[input, second] | overlay(-5, 40)", "small.y4m", "[0][1]overlay=-5:40", 0)
        self.check("[input, second] | overlay(51, -9)", "small.y4m", "[0][1]overlay=51:-9", 0)

    def test_other_samples_are_converted_and_the_reports_tell_of_both(self):
        done = run("run", "[input, second] | blend(lighten)", self.inputs / "first.y4m", self.inputs / "other.mkv", "-o",
                   self.folder / "out.mkv", "--codec", "ffv1", "--json", self.folder / "a.json", "--report", self.folder / "a.html", "-q",
                   "--no-profile")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        report = json.loads((self.folder / "a.json").read_text())
        self.assertEqual(report["second"], str(self.inputs / "other.mkv"))
        self.assertEqual(report["second_format"], "64x48 4:2:0 8 bit")
        self.assertEqual(report["graph"], [{"name": "blend", "inputs": [-1, -2]}])
        self.assertEqual(report["frames"], 10)
        page = (self.folder / "a.html").read_text()
        self.assertIn("other.mkv", page)
        self.assertIn(">second<", page)

    def test_profiles_of_one_video_and_of_two_are_apart(self):
        for second in "second.y4m", "small.y4m":
            done = run("run", "[input, second] | overlay(4, 4)", self.inputs / "first.y4m", self.inputs / second, "-o", "null",
                       "-q")
            self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_one_of_them_may_be_a_pipe(self):
        with open(self.inputs / "second.y4m", "rb") as pipe:
            done = run("run", "[input, second] | blend(screen)", self.inputs / "first.y4m", "-", "-o", "null", "-q",
                       stdin=pipe)
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_what_cannot_be_is_refused_in_one_line(self):
        first, second, small = (self.inputs / name for name in ("first.y4m", "second.y4m", "small.y4m"))
        blend = "[input, second] | blend(add)"
        out = self.folder / "out.y4m"
        for words, command in (("takes two", ["run", blend, first, "-o", out]),
                               ("does not read the second video", ["run", "blur", first, second, "-o", out]),
                               ("resize(64, 48)", ["run", blend, first, small, "-o", out]),
                               ("leave out --loop", ["run", blend, first, second, "--loop", "2", "-o", out]),
                               ("leave out --start", ["run", blend, first, second, "--start", "0.1", "-o", out]),
                               ("cannot be both", ["run", blend, "-", "-", "-o", out]),
                               ("--measure works on one video", ["run", blend, first, second, "--measure"]),
                               ("--count works on one video", ["run", blend, first, second, "--count"]),
                               ("takes two", ["run", blend, first, "--measure"]),
                               ("takes two", ["run", blend, first, "--count"]),
                               ("no such file", ["run", blend, first, self.inputs / "none.mp4", "-o", out]),
                               ("takes two", ["batch", blend, first, second, "-o", self.folder / "{stem}.mkv"]),
                               ("cannot be cut", ["plan", blend, first, "-o", self.folder / "plan.json"]),
                               ("has no mode", ["run", "[input, second] | blend", first, second])):
            with self.subTest(words):
                done = run(*command)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                if words != "has no mode":
                    self.assertIn(words.encode(), done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])
        done = run("run", blend, first, second, "-o", second, "-y")
        self.assertEqual(done.returncode, 2, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
