"""Tests of the installed package: python -m unittest discover python/tests"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import millrace as mr
import numpy as np

os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()


def binomial(image):
    """The 3x3 binomial window in NumPy, with repeated borders: the definition of `blur`."""
    padded = np.pad(image.astype(np.float64), 1, mode="edge")
    weights = np.outer([1, 2, 1], [1, 2, 1]) / 16
    height, width = image.shape
    return sum(weights[y, x] * padded[y:y + height, x:x + width] for y in range(3) for x in range(3))


class Package(unittest.TestCase):
    def test_importing_it_loads_neither_numpy_nor_the_library(self):
        code = ("import sys, millrace\n"
                "loaded = {'numpy', 'millrace._millrace', 'millrace.cluster'} & set(sys.modules)\n"
                "assert not loaded, loaded\n"
                "from millrace import Pipeline, cluster\n"
                "assert millrace.Pipeline is Pipeline and millrace.cluster is cluster")
        subprocess.run([sys.executable, "-c", code], check=True)

    def test_every_name_that_it_says_it_has_is_there(self):
        for name in (*mr.__all__, "__version__"):
            self.assertIsNotNone(getattr(mr, name))
            self.assertIn(name, dir(mr))
        with self.assertRaisesRegex(AttributeError, "no attribute 'Pipelien'"):
            mr.Pipelien


class Pipelines(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(1)

    def image(self, shape=(48, 65), dtype=np.uint8):
        return self.random.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)

    def test_an_image_is_blurred_as_numpy_does_it(self):
        for dtype in np.uint8, np.uint16:
            image = self.image(dtype=dtype)
            blurred = mr.Pipeline("blur")(image)
            self.assertEqual((blurred.dtype, blurred.shape), (image.dtype, image.shape))
            self.assertLessEqual(np.abs(blurred - binomial(image)).max(), 0.6)

    def test_many_images_are_filtered_as_each_alone(self):
        images = self.image((7, 30, 40))
        pipeline = mr.Pipeline("crop(0.5) | blur", no_profile=True)
        together = pipeline(images)
        self.assertEqual(together.shape[1:], pipeline(images[0]).shape)
        for one, image in zip(together, images):
            np.testing.assert_array_equal(one, pipeline(image))

    def test_arrays_may_lie_in_memory_as_they_like(self):
        image = self.image((40, 60))
        expected = mr.Pipeline("blur")(image)
        for same in (np.asfortranarray(image), image[::-1][::-1], np.dstack([image, image])[..., 0],
                     np.pad(image, 3)[3:-3, 3:-3]):
            np.testing.assert_array_equal(mr.Pipeline("blur")(same), expected)
        np.testing.assert_array_equal(mr.Pipeline("blur")(image[::-1]), mr.Pipeline("blur")(image[::-1].copy()))

    def test_out_is_filled_and_returned(self):
        image = self.image()
        out = np.zeros_like(image)
        pipeline = mr.Pipeline("blur")
        self.assertIs(pipeline(image, out=out), out)
        np.testing.assert_array_equal(out, pipeline(image))

    def test_a_pipeline_tells_why_it_ran_as_it_did_and_goes_on(self):
        pipeline = mr.Pipeline("blur | sobel_x")
        with self.assertRaisesRegex(mr.UsageError, "nothing has been filtered"):
            pipeline.explain()
        pipeline(self.image((20, 48, 64)))
        self.assertIn("candidates", pipeline.explain())
        self.assertEqual(pipeline.report()["frames"], 20)
        pipeline(self.image())
        self.assertEqual(pipeline.report()["frames"], 1)

    def test_mistakes_are_value_errors_in_one_line(self):
        readonly = np.zeros((8, 8), np.uint8)
        readonly.flags.writeable = False
        image = self.image((8, 8))
        for words, call in (("bluur", lambda: mr.Pipeline("bluur")),
                            ("did you mean 'threads'", lambda: mr.Pipeline("blur", thread=2)),
                            ("float64", lambda: mr.Pipeline("blur")(np.zeros((8, 8)))),
                            ("shape", lambda: mr.Pipeline("blur")(np.zeros((2, 2, 2, 2), np.uint8))),
                            ("shape", lambda: mr.Pipeline("blur")(np.zeros((0, 2), np.uint8))),
                            ("out is uint8", lambda: mr.Pipeline("blur")(image, out=np.zeros((8, 9), np.uint8))),
                            ("written", lambda: mr.Pipeline("blur")(image, out=readonly)),
                            ("memory of its own", lambda: mr.Pipeline("blur")(image, out=image)),
                            ("neighbouring frames", lambda: mr.Pipeline("temporal_median")(image)),
                            ("takes two", lambda: mr.Pipeline("[input, second] | blend(add)")(image)),
                            ("spiral", lambda: mr.Pipeline("blur", structure="spiral")(image))):
            with self.assertRaisesRegex(mr.UsageError, words) as caught:
                call()
            self.assertIsInstance(caught.exception, ValueError)
            self.assertNotIn("\n", str(caught.exception))

    @unittest.skipIf(importlib.util.find_spec("halide") is None, "Halide is not installed")
    def test_filters_are_fused_where_halide_is_there(self):
        image = self.image((60, 48, 64))
        fused = mr.Pipeline("blur | sobel_x", structure="tiled", fusion="all", no_profile=True)
        plain = mr.Pipeline("blur | sobel_x", structure="tiled", fusion="none", no_profile=True)
        np.testing.assert_array_equal(fused(image), plain(image))
        # Filter frames one by one until the kernel is ready.
        give_up = time.monotonic() + 120
        while fused.report().get("compile_seconds", 0) == 0 and time.monotonic() < give_up:
            for _ in range(20):
                np.testing.assert_array_equal(fused(image), plain(image))
                time.sleep(0.05)
        self.assertGreater(fused.report()["compile_seconds"], 0)
        self.assertNotIn("kernel_error", fused.report())

    def test_a_pipeline_is_whole_again_after_a_mistake(self):
        pipeline = mr.Pipeline("sobel_x", structure="tiled")
        with self.assertRaises(mr.UsageError):
            pipeline(self.image((8, 8)), out=np.zeros((3, 3), np.uint8))
        image = self.image()
        np.testing.assert_array_equal(pipeline(image), mr.Pipeline("sobel_x")(image))

    def test_threads_share_a_pipeline_and_other_threads_go_on_meanwhile(self):
        pipeline = mr.Pipeline("blur")
        images = self.image((12, 64, 64))
        expected = [mr.Pipeline("blur")(image) for image in images]
        got = [None] * len(images)

        def filter_one(i):
            got[i] = pipeline(images[i])

        threads = [threading.Thread(target=filter_one, args=(i,)) for i in range(len(images))]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        np.testing.assert_array_equal(got, expected)

    def test_a_pipeline_from_before_a_fork_is_refused_and_a_new_one_works(self):
        pipeline = mr.Pipeline("blur")
        image = self.image()
        expected = pipeline(image)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            told = b"nothing"
            try:
                same = np.array_equal(mr.Pipeline("blur")(image), expected)
                try:
                    pipeline(image)
                except mr.UsageError as error:
                    told = f"{same} {error}".encode()
            finally:
                os.write(write, told)
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            told = pipe.read()
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertRegex(told, "^True this pipeline was made before a fork")
        np.testing.assert_array_equal(pipeline(image), expected)

    def test_what_has_dlpack_is_an_image(self):
        class Elsewhere:
            """An array of another library, not NumPy."""

            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **words):
                return self.array.__dlpack__(**words)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        image = self.image()
        pipeline = mr.Pipeline("blur")
        np.testing.assert_array_equal(pipeline(Elsewhere(image)), pipeline(image))
        with self.assertRaisesRegex(mr.UsageError, "float64"):
            pipeline(Elsewhere(np.zeros((4, 4), np.float64)))


def ffmpeg_planes(path, format):
    """Planes decoded by FFmpeg."""
    data = subprocess.run(["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-"], check=True,
                          capture_output=True).stdout
    planes, at = [], 0
    while at < len(data):
        frame = []
        for rows, columns in format.shapes:
            frame.append(np.frombuffer(data, np.uint8, rows * columns, at).reshape(rows, columns))
            at += rows * columns
        planes.append(frame)
    return planes


def source_again(path):
    with mr.open(path) as reader:
        yield from reader


class Videos(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.clip = str(self.folder / "clip.mkv")
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=50x38:r=30:d=0.4", "-pix_fmt",
                        "yuv420p", "-c:v", "ffv1", self.clip], check=True)

    def assert_same(self, frames, expected):
        self.assertEqual(len(frames), len(expected))
        for frame, planes in zip(frames, expected):
            self.assertEqual(len(frame.planes), len(planes))
            for got, wanted in zip(frame.planes, planes):
                np.testing.assert_array_equal(got, wanted)

    def test_a_video_is_filtered_from_file_to_file(self):
        output = self.folder / "out.y4m"
        self.assertEqual(mr.run("@A", "test:64x48@5", output)["frames"], 5)
        with self.assertRaisesRegex(mr.UsageError, "option force"):
            mr.run("@A", "test:64x48@5", output)
        self.assertEqual(mr.run("@A", "test:64x48@6", output, force=True)["frames"], 6)
        with self.assertRaisesRegex((mr.RunError, mr.UsageError), "/nowhere.mkv"):
            mr.run("@A", "/nowhere.mkv")
        self.assertTrue(issubclass(mr.RunError, RuntimeError))

    def test_frames_are_read_as_ffmpeg_reads_them(self):
        with mr.open(self.clip) as reader:
            self.assertEqual(reader.format, mr.Format(50, 38, "420", 8, reader.format.rate, reader.format.time_base))
            self.assertEqual(reader.format.rate, 30)
            frames = list(reader)
            self.assert_same(frames, ffmpeg_planes(self.clip, reader.format))
            times = [float(frame.timestamp * reader.format.time_base) for frame in frames]
            np.testing.assert_allclose(times, np.arange(12) / 30, atol=0.001)
        with self.assertRaisesRegex(mr.UsageError, "was closed"):
            list(reader)

    def test_what_is_streamed_and_written_is_what_the_program_makes(self):
        pipeline = mr.Pipeline("rotate(6) | blur", no_profile=True)
        direct = str(self.folder / "direct.mkv")
        mr.run("rotate(6) | blur", self.clip, direct, no_profile=True, codec="ffv1")
        own = self.folder / "own.mkv"
        with mr.open(self.clip) as source, mr.write(own, like=source, codec="ffv1") as target:
            with pipeline.stream(source) as stream:
                for frame in stream:
                    target.write(frame)
                self.assertEqual(stream.report()["frames"], 12)
                self.assertRegex(stream.explain(), "candidates|since the start")  # the search ends if the others are slower
        with mr.open(direct) as expected, mr.open(own) as got:
            planes = [frame.planes for frame in expected]
            self.assert_same(list(got), planes)
            # The caller's frames through the same pipeline.
            with mr.open(self.clip) as source:
                self.assert_same(list(pipeline.stream(list(source), like=source.format)), planes)
                for in_flight in 1, 2:
                    frames = pipeline.stream(iter(source_again(self.clip)), like=source.format, frames_in_flight=in_flight)
                    self.assert_same(list(frames), planes)

    def test_a_stream_may_change_the_size_and_read_neighbouring_frames(self):
        pipeline = mr.Pipeline("temporal_median | difference(2) | resize(20, 0)", no_profile=True)
        direct = str(self.folder / "sized.mkv")
        mr.run(pipeline.text, self.clip, direct, no_profile=True, codec="ffv1")
        with mr.open(direct) as expected, mr.open(self.clip) as source:
            planes = [frame.planes for frame in expected]
            self.assertEqual(planes[0][0].shape[1], 20)
            self.assert_same(list(pipeline.stream(list(source), like=source.format)), planes)

    def test_a_stream_of_own_frames_ends_where_its_options_end_it(self):
        shape = mr.Format(64, 48, rate=25)
        frames = [np.full((48, 64), i, np.uint8) for i in range(50)]
        for options, expected in (({"frames": 3}, range(3)), ({"end": 1}, range(25)), ({"start": 1}, range(25, 50)),
                                  ({"start": 1, "frames": 2}, range(25, 27))):
            # Often, because the run may end before or after the next frame is handed over.
            for _ in range(10):
                stream = mr.Pipeline("rotate(0)", **options).stream(iter(frames), like=shape)
                self.assertEqual([frame.planes[0][0, 0] for frame in stream], list(expected), options)
                self.assertTrue(stream.report())

    def test_a_writer_leaves_out_what_its_options_leave_out(self):
        path = os.path.join(self.folder, "three.mkv")
        with mr.write(path, like=mr.Format(64, 48, rate=25), frames=3) as out:
            for i in range(50):
                out.write(np.full((48, 64), i, np.uint8))
        with mr.open(path) as video:
            self.assertEqual(len(list(video)), 3)

    def test_a_stream_may_be_left_and_a_writer_dies_in_peace(self):
        with mr.Pipeline("blur").stream("test:64x48@1000000") as stream:
            self.assertEqual(next(stream).planes[0].shape, (48, 64))
            with self.assertRaisesRegex(mr.UsageError, "not over"):
                stream.explain()
        self.assertEqual(list(stream), [])
        output = self.folder / "half.y4m"
        with self.assertRaisesRegex(KeyError, "mine"), mr.write(output, like=mr.Format(16, 8)) as writer:
            writer.write(np.zeros((8, 16), np.uint8))
            raise KeyError("mine")
        with self.assertRaisesRegex(mr.UsageError, "was closed"):
            writer.write(np.zeros((8, 16), np.uint8))

    def test_mistakes_are_told_where_they_are_made(self):
        writer = mr.write(self.folder / "out.y4m", like=mr.Format(16, 8, "420"))
        gray = np.zeros((8, 16), np.uint8)
        chroma = np.zeros((4, 8), np.uint8)
        for words, call in (("1 planes were given", lambda: writer.write(gray)),
                            ("plane 2 is 8 x 16 of 8 bits; .* have 4 x 8 of 8 bits",
                             lambda: writer.write(mr.Frame((gray, chroma, gray)))),
                            ("16 bits", lambda: writer.write(mr.Frame((gray.astype(np.uint16), chroma, chroma)))),
                            ("chroma '411'", lambda: mr.write("x.y4m", like=mr.Format(16, 8, "411"))),
                            ("like=", lambda: mr.Pipeline("blur").stream([])),
                            ("NULL|nowhere", lambda: mr.open("/nowhere.mkv").format)):
            with self.assertRaisesRegex((mr.UsageError, mr.RunError), words):
                call()
        writer.write(mr.Frame((gray, chroma, chroma)))
        writer.close()

        def broken():
            yield mr.Frame((gray,))
            raise KeyError("of the source")

        with self.assertRaisesRegex(KeyError, "of the source"):
            list(mr.Pipeline("blur").stream(broken(), like=mr.Format(16, 8)))

    def test_progress_is_told_and_what_it_raises_stops_the_run(self):
        told = []
        mr.run("blur", "test:64x48@50", progress=lambda frames, total: told.append((frames, total)))
        self.assertEqual(told[-1], (50, 50))

        def enough(frames, total):
            raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            mr.run("blur", "test:64x48@100000000", progress=enough)

    def test_ctrl_c_stops_a_run(self):
        program = "import millrace as mr; print('on', flush=True); mr.run('@A', 'test:640x480@100000000')"
        # A shell starts background processes with the signal ignored.
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(child.kill)
        self.assertEqual(child.stdout.readline(), "on\n")
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
        self.assertIn("KeyboardInterrupt", error)

    def test_filters_and_the_machine_are_told(self):
        self.assertIn("blur", [one["name"] for one in mr.filters()["filters"]])
        self.assertTrue(mr.machine())


if __name__ == "__main__":
    unittest.main()
