"""Frames taken at a time, and frames handed over: each is the right one, or a mistake says what is wrong."""

import gc
import shutil
import subprocess
import sys
import tempfile
import unittest
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import millrace as mr
import numpy as np


class MadeVideos(unittest.TestCase):
    def setUp(self):
        if shutil.which("ffmpeg") is None:
            self.skipTest("no ffmpeg program")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made(self, name, *words, seconds=3):
        path = self.folder / name
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=64x48:r=25:d={seconds}", *words,
                        "-pix_fmt", "yuv420p", path], check=True)
        return path


class ByNumber(MadeVideos):
    def test_each_frame_is_that_of_the_iteration(self):
        for name, *words in (("b.ts", "-c:v", "libx264", "-g", "12", "-bf", "3"), ("two.ts", "-c:v", "mpeg2video", "-bf", "2"),
                             ("two.mpg", "-c:v", "mpeg2video", "-bf", "2"), ("b.mp4", "-c:v", "libx264", "-g", "12", "-bf", "3")):
            with self.subTest(name), mr.open(self.made(name, *words)) as video:
                frames = list(video)
                self.assertEqual(len(video), len(frames))
                for number in *range(50, 75), -1:
                    np.testing.assert_array_equal(video[number].luma, frames[number].luma)
                self.assertEqual([one.timestamp for one in video[-2:]], [one.timestamp for one in frames[-2:]])

    def test_a_number_is_anything_that_python_takes_for_an_index_and_nothing_else(self):
        with mr.open("test:16x8@3") as video:
            frames = list(video)
            for number in np.int8(1), np.uint64(1), np.array(1), True:
                np.testing.assert_array_equal(video[number].luma, frames[1].luma, repr(number))
            for wrong in "a", "1", None, (1, 2), 1.0, np.float32(1), [1], slice:
                with self.subTest(wrong=wrong), self.assertRaisesRegex(TypeError, "indices are whole numbers or slices, not"):
                    video[wrong]
            for wrong in 3, -4, 10**30:
                with self.subTest(wrong=wrong), self.assertRaisesRegex(IndexError, "it has 3"):
                    video[wrong]


class BySeconds(MadeVideos):
    def test_a_float_gives_the_frame_of_that_time(self):
        for name in "in.mp4", "in.mkv", "in.ts", "in.y4m":
            with self.subTest(name), mr.open(self.made(name)) as video:
                frames = [one.luma for one in video]
                for number in range(len(frames)):
                    np.testing.assert_array_equal(next(video.seek(number / 25)).luma, frames[number], f"at {number / 25}")

    def test_a_time_between_two_frames_gives_the_earlier_one_which_is_shown_then(self):
        for name in "in.mp4", "in.y4m":
            with self.subTest(name), mr.open(self.made(name)) as video:
                frames = [one.luma for one in video]
                for seconds, number in (Fraction(1, 50), 0), (1.03, 25), (2.97, 74), (0.0799, 1):
                    np.testing.assert_array_equal(next(video.seek(seconds)).luma, frames[number], f"at {seconds}")
                for wrong in 3, float("nan"), float("inf"), np.float32("nan"), np.float32("inf"), 10**400, None, "a", "1/0", b"1", [1], (1, 2):
                    with self.subTest(wrong=wrong), self.assertRaises(mr.UsageError):
                        video.seek(wrong)

    def test_a_time_is_any_finite_number(self):
        class Half:
            def __float__(self):
                return 0.5

        class One:
            def __index__(self):
                return 1

        with mr.open(self.made("in.mp4", seconds=2)) as video:
            frames = [one.luma for one in video]
            for seconds in (*(kind(0.5) for kind in (np.float16, np.float32, np.float64, np.longdouble, np.array, float, Fraction, Decimal)),
                            "1/2", Half()):
                np.testing.assert_array_equal(next(video.seek(seconds)).luma, frames[12], repr(seconds))
            for seconds in (*(kind(1) for kind in (int, np.int8, np.uint64, np.array)), One()):
                np.testing.assert_array_equal(next(video.seek(seconds)).luma, frames[25], repr(seconds))

    def test_a_name_may_be_bytes(self):
        path = self.made("in.mp4", seconds=1)
        with mr.open(bytes(path)) as video:
            self.assertEqual(len(video), 25)
        self.assertEqual(len(list(mr.Pipeline("blur").stream(bytes(path)))), 25)


class HandedOver(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "out.mkv"

    def write(self, plane, bits, **given):
        with mr.write(self.path, like=mr.Format(64, 48, bits=bits, time_base="1/25"), codec="ffv1", force=True) as writer:
            writer.write(mr.Frame((plane,), **given))
        with mr.open(self.path) as video:
            return video[0].luma

    def test_samples_of_other_types_are_refused_and_not_read_as_unsigned(self):
        for dtype, bits in (np.float16, 16), (np.int16, 16), (np.int8, 8), (np.bool_, 8), (np.float32, 8):
            plane = np.ones((48, 64), dtype)
            with self.subTest(dtype), self.assertRaisesRegex(mr.UsageError, np.dtype(dtype).name):
                self.write(plane, bits)
            with self.subTest(dtype), self.assertRaisesRegex(mr.UsageError, np.dtype(dtype).name):
                list(mr.Pipeline("blur").stream([mr.Frame((plane,))], like=mr.Format(64, 48, bits=bits)))

    def test_samples_in_the_other_byte_order_are_converted(self):
        plane = np.arange(48 * 64, dtype=np.uint16).reshape(48, 64)
        np.testing.assert_array_equal(self.write(plane.astype(plane.dtype.newbyteorder()), 16), plane)

    def test_a_timestamp_may_be_an_integer_of_numpy(self):
        plane = np.full((48, 64), 7, np.uint8)
        np.testing.assert_array_equal(self.write(plane, 8, timestamp=np.int64(0)), plane)
        with self.assertRaisesRegex(mr.UsageError, "timestamp of a frame is a whole number"):
            self.write(plane, 8, timestamp=0.5)

    def test_like_is_a_format_or_a_video(self):
        for wrong in 3, None, "in.mp4":
            with self.subTest(wrong), self.assertRaisesRegex(mr.UsageError, "like= is a Format"):
                mr.write(self.path, like=wrong)


class Dropped(unittest.TestCase):
    def test_writers_warn_and_leave_no_file_that_looks_finished(self):
        with tempfile.TemporaryDirectory() as folder:
            for frames in 1, 100:
                path = Path(folder) / f"{frames}.mkv"
                writer = mr.write(path, like=mr.Format(64, 48))
                for number in range(frames):
                    writer.write(np.full((48, 64), number, np.uint8))
                with self.subTest(frames), self.assertWarnsRegex(ResourceWarning, "without close"):
                    del writer
                    gc.collect()
                self.assertEqual(list(Path(folder).iterdir()), [])

    def test_writers_that_could_not_begin_say_nothing_and_keep_the_file(self):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("error")
            path = Path(folder) / "kept.mkv"
            path.write_text("kept")
            with self.assertRaisesRegex(mr.UsageError, "exists"):
                mr.write(path, like=mr.Format(64, 48))
            gc.collect()
            self.assertEqual(path.read_text(), "kept")


class Ends(unittest.TestCase):
    def test_of_the_program_are_quiet_while_a_daemon_thread_works(self):
        for work in ("pipeline(image)", "list(pipeline.stream('test:64x48@50'))", "mr.run('blur', 'test:64x48@50', 'null')",
                     "mr.open('test:64x48@20')[3]"):
            text = f"""
import threading
import millrace as mr, numpy as np
pipeline, image, turns = mr.Pipeline("blur", no_profile=True), np.zeros((48, 64), np.uint8), threading.Semaphore(0)
def forever():
    while True:
        {work}
        turns.release()
threading.Thread(target=forever, daemon=True).start()
for _ in range(3):
    turns.acquire()
"""
            with self.subTest(work):
                for _ in range(3):
                    ended = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
                    self.assertEqual((ended.returncode, ended.stderr), (0, ""))


class Reports(unittest.TestCase):
    def test_tell_of_the_images_that_were_filtered_after_another_was_refused(self):
        pipeline = mr.Pipeline("blur")
        pipeline(np.zeros((48, 64), np.uint8))
        with self.assertRaises(mr.UsageError):
            pipeline(np.full((9, 9), np.nan, np.float32))
        self.assertEqual(pipeline.report()["frames"], 1)

    def test_say_that_nothing_was_filtered_if_all_was_refused(self):
        pipeline = mr.Pipeline("blur")
        with self.assertRaises(mr.UsageError):
            pipeline(np.full((9, 9), np.nan, np.float32))
        with self.assertRaisesRegex(mr.UsageError, "nothing has been filtered"):
            pipeline.explain()


if __name__ == "__main__":
    unittest.main()
