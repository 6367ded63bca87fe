"""Custom filters give the result of NumPy in 32-bit floats, under every schedule.

python -m unittest discover python/tests
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

import millrace as mr
import numpy as np
from filters_testing import (OWN, RANDOM, Resized, along, bent, by_numpy, codes, corner, corners, displaced, emboss, last_of,
                             mirrored, of_none, repeated, samples, scaled, unrolled, vignette, warmer_of, wide, window_between)

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()

HALIDE = importlib.util.find_spec("halide") is not None


class OwnFilters(unittest.TestCase):
    def setUp(self):
        self.random = np.random.default_rng(5)

    def image(self, shape=(41, 70), dtype=np.uint16):
        return self.random.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)

    def test_what_numpy_makes_of_the_function_is_what_the_filter_makes(self):
        for dtype in np.uint8, np.uint16:
            image = self.image(dtype=dtype)
            for text, one, parameters in (("emboss(-2.7)", emboss, {"strength": -2.7}), ("vignette", vignette, {}),
                                          ("window_between(0.3)", window_between, {"low": 0.3, "high": 0.75}),
                                          ("corners", corners, {}), ("wide", wide, {})):
                with self.subTest(text=text, dtype=dtype):
                    made = mr.Pipeline(text, filters=OWN, no_profile=True)(image)
                    np.testing.assert_array_equal(made, by_numpy(one.function, image, **parameters))

    def test_tables_and_loops_give_what_numpy_makes_of_them(self):
        weights, several = [0.5, -1.25, 3, 0.125], [0.9, 0.1, 0.3, 0.2]
        cases = (("bent", bent, {}), ("unrolled", unrolled, {}), ("repeated", repeated, {}),
                 ("along(0.5, [0.5, -1.25, 3, 0.125])", along, {"share": 0.5, "weights": mr.table(weights)}),
                 ("along(1, [2])", along, {"share": 1, "weights": mr.table([2])}),
                 ("last_of([0.9, 0.1, 0.3, 0.2])", last_of, {"several": mr.table(several)}),
                 ("mirrored", mirrored, {}))
        for dtype in np.uint8, np.uint16:
            image = self.image(dtype=dtype)
            for text, one, parameters in cases:
                with self.subTest(text=text, dtype=dtype):
                    made = mr.Pipeline(text, filters=OWN, no_profile=True)(image)
                    np.testing.assert_array_equal(made, by_numpy(one.function, image, **parameters))

    def test_two_ways_to_write_one_kernel_give_the_same_bits(self):
        image = self.image()
        np.testing.assert_array_equal(mr.Pipeline("unrolled", filters=OWN, no_profile=True)(image),
                                      by_numpy(lambda x: unrolled.function(x), image))

    def test_what_is_no_number_is_compared_as_numpy_does_and_black_at_the_end(self):
        for dtype in np.uint8, np.uint16:
            image = self.image(dtype=dtype)
            with np.errstate(invalid="ignore"):
                expected = by_numpy(of_none.function, image)
            np.testing.assert_array_equal(mr.Pipeline("of_none", filters=OWN, no_profile=True)(image), expected)
            self.assertEqual(mr.Pipeline("none_at_all", filters=OWN, no_profile=True)(image).max(), 0)

    def test_a_list_may_be_long(self):
        weights = np.round(RANDOM.normal(size=1500) * 0.1, 3)
        image = self.image((3, 40))
        text = f"along(0.5, {weights.tolist()})"
        np.testing.assert_array_equal(mr.Pipeline(text, filters=OWN, no_profile=True)(image),
                                      by_numpy(along.function, image, share=0.5, weights=mr.table(weights)))

    def test_pixels_say_where_others_are_read(self):
        image = self.image()
        made = mr.Pipeline("[input, emboss(0.5)] | displaced(9)", filters=OWN, no_profile=True)(image)
        np.testing.assert_array_equal(made, by_numpy(
            lambda x, far: displaced.function(x, emboss.function(x, np.float32(0.5)), far=far),
            image, far=9))

    def test_what_is_made_may_have_another_size(self):
        image = self.image()
        for by in 0.31, 1, 2.5:
            with self.subTest(by=by):
                made = mr.Pipeline(f"scaled({by})", filters=OWN, no_profile=True)(image)
                shape = int(np.rint(np.float32(41) * np.float32(by))), int(np.float32(70) * np.float32(by))
                expected = scaled.function(Resized(samples(image), shape), np.float32(by))
                np.testing.assert_array_equal(made, codes(expected, image.dtype))
        np.testing.assert_array_equal(mr.Pipeline("corner", filters=OWN, no_profile=True)(image),
                                      codes(corner.function(Resized(samples(image), (7, 41))), image.dtype))
        with self.assertRaisesRegex(mr.UsageError, "scaled: a frame of 70x41 would become less than 1 pixel"):
            mr.Pipeline("scaled(0.011)", filters=OWN)(image)

    def test_of_another_size_chroma_has_its_share(self):
        with mr.open("test:65x49@2") as source:
            frames = list(source)
            made = list(mr.Pipeline("scaled(0.5)", filters=OWN, no_profile=True).stream(frames, like=source.format))
        for frame, one in zip(frames, made):
            self.assertEqual([plane.shape for plane in one.planes], [(24, 32), (12, 16), (12, 16)])
            for plane, small in zip(frame.planes, one.planes):
                expected = scaled.function(Resized(samples(plane), small.shape), np.float32(0.5))
                np.testing.assert_array_equal(small, codes(expected, plane.dtype))

    def test_neighbouring_frames_are_read_and_stand_still_at_the_ends(self):
        with mr.open("test:64x48@6") as source:
            frames = list(source)
            made = list(mr.Pipeline("steadied", filters=OWN, no_profile=True).stream(frames, like=source.format))
        self.assertEqual(len(made), 6)
        for plane in range(3):
            video = [samples(frame.planes[plane]) for frame in frames]
            for n, one in enumerate(made):
                def seen(time):
                    return video[min(max(n + time, 0), 5)]

                half, quarter = np.float32(0.5), np.float32(0.25)
                np.testing.assert_array_equal(
                    one.planes[plane], codes((seen(-2)[1, 0] + seen(0)) * quarter + seen(1) * half, np.uint8))
        with self.assertRaisesRegex(mr.UsageError, "neighbouring frames"):
            mr.Pipeline("steadied", filters=OWN)(self.image())

    def test_a_second_video_is_an_image_like_others(self):
        with tempfile.TemporaryDirectory() as folder:
            output, other = pathlib.Path(folder) / "out.y4m", pathlib.Path(folder) / "other.y4m"
            mr.run("rotate(170)", "test:64x48@3", other, no_profile=True)
            mr.run("[input, second] | displaced(5)", "test:64x48@3", output, filters=OWN, second=str(other), no_profile=True)
            with mr.open(output) as written, mr.open("test:64x48@3") as source, mr.open(other) as beside:
                for made, one, by in zip(written, source, beside, strict=True):
                    for plane, first, second in zip(made.planes, one.planes, by.planes):
                        np.testing.assert_array_equal(plane, by_numpy(displaced.function, first, second, far=5))

    def test_several_images_are_read_by_one_filter(self):
        image = self.image()
        moved = by_numpy(lambda x: x[1, 0], image)
        made = mr.Pipeline("[input, step] | warmer_of(0.4)", filters=[warmer_of, mr.filter(name="step")(lambda x: x[1, 0])],
                           no_profile=True)(image)
        np.testing.assert_array_equal(made, by_numpy(warmer_of.function, image, moved, share=0.4))

    def test_a_filter_written_once_more_has_the_bits_of_the_built_in_one(self):
        image = self.image()
        for own, built_in in (("my_blur | vignette", "blur | vignette"), ("my_blur | my_sobel_x", "blur | sobel_x"),
                              ("my_threshold(0.31)", "threshold(0.31)"),
                              ("my_blur | [my_sobel_x, my_sobel_y] | my_magnitude | my_threshold(0.1)", "@A"),
                              ("blur | [my_sobel_x, sobel_y] | magnitude | rotate(12)",
                               "blur | [sobel_x, sobel_y] | magnitude | rotate(12)")):
            with self.subTest(own=own):
                np.testing.assert_array_equal(mr.Pipeline(own, filters=OWN, no_profile=True)(image),
                                              mr.Pipeline(built_in, filters=OWN, no_profile=True)(image))

    def test_a_built_in_filter_at_the_end_sums_codes_and_differs_by_their_rounding_alone(self):
        image = self.image()
        built_in = mr.Pipeline("blur", no_profile=True)(image)
        padded = np.pad(image.astype(np.int64), 1, mode="edge")
        rows = padded[:-2] + 2 * padded[1:-1] + padded[2:]
        np.testing.assert_array_equal(built_in, (rows[:, :-2] + 2 * rows[:, 1:-1] + rows[:, 2:] + 8) // 16)
        own = mr.Pipeline("my_blur", filters=OWN, no_profile=True)(image)
        self.assertLessEqual(np.abs(own.astype(np.int64) - built_in).max(), 1)

    def test_every_structure_and_fusion_gives_the_same_bits(self):
        image = self.image((2, 50, 90))
        for text in ("emboss(0.5) | [blur, my_blur] | warmer_of(0.5)", "my_blur | of_none | my_blur", "repeated | along(0.5, [1, 2, 1])",
                     "emboss(0.5) | [repeated, bent] | displaced(7) | scaled(1.2) | along(0.5, [1, 2, 1]) | blur"):
            self.check_structures(text, image)

    def check_structures(self, text, image):
        expected = mr.Pipeline(text, filters=OWN, structure="sequential", fusion="none", threads=1)(image)
        for structure in "sequential", "tiled", "sliding", "backward-cached", "backward", "backward-store":
            one_kernel = structure in ("backward", "backward-store")
            if one_kernel and "scaled" in text:
                continue  # would be too large
            for fusion in ("all",) if one_kernel else ("none", "pointwise", "stencil"):
                with self.subTest(text=text, structure=structure, fusion=fusion):
                    made = mr.Pipeline(text, filters=OWN, structure=structure, fusion=fusion, tile="32x8")
                    np.testing.assert_array_equal(made(image), expected)

    @unittest.skipUnless(HALIDE, "Halide is not installed")
    def test_it_is_compiled_while_it_runs_and_kept_for_the_next_time(self):
        image = self.image((8, 48, 64))

        @mr.filter
        def fresh(x):  # of this test alone: nothing has compiled it before
            return x * 0.75 + x[1, 0] * 0.125 + x[-1, 0] * 0.0625

        expected = np.stack([by_numpy(fresh.function, one) for one in image])
        for run in range(2):
            pipeline = mr.Pipeline("fresh", filters=[fresh], structure="tiled", fusion="pointwise")
            give_up = time.monotonic() + 120
            while True:
                for _ in range(1 if run == 1 else 20):  # the exception ends the run and thus the compilation
                    np.testing.assert_array_equal(pipeline(image), expected)
                    time.sleep(0.05)
                report = pipeline.report()
                self.assertNotIn("kernel_error", report)
                if run == 1:
                    self.assertEqual(report.get("compile_seconds", 0), 0)
                if run == 1 or report.get("compile_seconds", 0) > 0 or time.monotonic() > give_up:
                    break
            if run == 0:
                self.assertGreater(report["compile_seconds"], 0)

    def test_without_a_compiler_it_runs_all_the_same(self):
        program = textwrap.dedent("""
            import sys
            sys.path.insert(0, sys.argv[1])
            import numpy as np, filters_testing as t
            image = np.arange(40 * 60, dtype=np.uint16).reshape(40, 60) * 27
            pipeline = t.mr.Pipeline("wide | emboss(2)", filters=t.OWN, no_profile=True)
            for _ in range(3):
                made = pipeline(image)
            same = t.mr.Pipeline("emboss(2)", filters=t.OWN, no_profile=True)(image)
            np.testing.assert_array_equal(same, t.by_numpy(t.emboss.function, image, strength=2))
            print(made.sum())
        """)
        environment = {**os.environ, "MILLRACE_KERNEL_COMPILER": "/nowhere", "XDG_CACHE_HOME": tempfile.mkdtemp()}
        done = subprocess.run([sys.executable, "-c", program, str(pathlib.Path(__file__).parent)], env=environment,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        image = np.arange(40 * 60, dtype=np.uint16).reshape(40, 60) * 27
        self.assertEqual(int(done.stdout), mr.Pipeline("wide | emboss(2)", filters=OWN, no_profile=True)(image).sum())

    def test_videos_go_through_it_too(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "out.y4m"
            told = mr.run("emboss(2)", "test:64x48@3", output, filters=OWN, no_profile=True)
            self.assertEqual((told["frames"], told["pipeline"]), (3, "emboss(strength=2)"))
            with mr.open(output) as written, mr.open("test:64x48@3") as source:
                streamed = list(mr.Pipeline("emboss(2)", filters=OWN).stream(source))
                for one, other in zip(streamed, written):
                    for plane, same in zip(one.planes, other.planes):
                        np.testing.assert_array_equal(plane, same)
                self.assertEqual(len(streamed), 3)

    def test_a_filter_does_what_its_function_does_where_it_is_called(self):
        @mr.filter
        def twice(x):
            return vignette(x) + emboss(x, 0.25)

        image = self.image()
        np.testing.assert_array_equal(mr.Pipeline("twice", filters=[twice], no_profile=True)(image),
                                      by_numpy(lambda x: vignette.function(x) + emboss.function(x, np.float32(0.25)), image))


if __name__ == "__main__":
    unittest.main()
