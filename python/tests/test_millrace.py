"""Tests of the installed package: python -m unittest discover python/tests"""

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
    """The 3x3 binomial window, by NumPy, borders repeated: what `blur` means."""
    padded = np.pad(image.astype(np.float64), 1, mode="edge")
    weights = np.outer([1, 2, 1], [1, 2, 1]) / 16
    height, width = image.shape
    return sum(weights[y, x] * padded[y:y + height, x:x + width] for y in range(3) for x in range(3))


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
                            ("spiral", lambda: mr.Pipeline("blur", structure="spiral")(image))):
            with self.assertRaisesRegex(mr.UsageError, words) as caught:
                call()
            self.assertIsInstance(caught.exception, ValueError)
            self.assertNotIn("\n", str(caught.exception))

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

    def test_a_video_is_filtered_from_file_to_file(self):
        with tempfile.TemporaryDirectory() as folder:
            output = str(pathlib.Path(folder) / "out.y4m")
            self.assertEqual(mr.run("@A", "test:64x48@5", output)["frames"], 5)
            with self.assertRaisesRegex(mr.UsageError, "option force"):
                mr.run("@A", "test:64x48@5", output)
            self.assertEqual(mr.run("@A", "test:64x48@6", output, force=True)["frames"], 6)
        with self.assertRaisesRegex((mr.RunError, mr.UsageError), "/nowhere.mkv"):
            mr.run("@A", "/nowhere.mkv")
        self.assertTrue(issubclass(mr.RunError, RuntimeError))

    def test_ctrl_c_stops_a_run(self):
        program = "import millrace as mr; print('on', flush=True); mr.run('@A', 'test:640x480@100000000')"
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
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
