"""Filters of one's own: what NumPy makes of the same function in 32-bit floats, in every schedule.

    python -m unittest discover python/tests
"""

import importlib.util
import json
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

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()

HALIDE = importlib.util.find_spec("halide") is not None


class Picture(np.ndarray):
    """Numbers of 32 bits that are read as Image is: x[dx, dy], edges repeated."""

    def __getitem__(self, key):
        if not (isinstance(key, tuple) and all(isinstance(one, int) for one in key)):
            return super().__getitem__(key)
        rows, columns = (np.arange(length) for length in self.shape)
        rows = np.clip(rows + key[1], 0, self.shape[0] - 1)
        columns = np.clip(columns + key[0], 0, self.shape[1] - 1)
        return np.asarray(self)[np.ix_(rows, columns)].view(Picture)

    def at(self, column, row):
        def whole(place, length):
            return np.clip(np.floor(place), 0, length - 1).astype(np.intp)

        return np.asarray(self)[whole(row, self.shape[0]), whole(column, self.shape[1])].view(Picture)

    @property
    def column(self):
        return np.broadcast_to(np.arange(self.shape[1], dtype=np.float32), self.shape)

    @property
    def row(self):
        return np.broadcast_to(np.arange(self.shape[0], dtype=np.float32)[:, np.newaxis], self.shape)

    @property
    def width(self):
        return np.float32(self.shape[1])

    @property
    def height(self):
        return np.float32(self.shape[0])


class Resized:
    """Read as Image is by a filter that makes another size."""

    def __init__(self, picture, shape):
        self.picture, self.shape = picture, shape
        self.width, self.height = picture.width, picture.height
        self.made_height, self.made_width = map(np.float32, shape)
        grid = np.zeros(shape, np.float32).view(Picture)
        self.column, self.row = grid.column, grid.row

    def at(self, column, row):
        return self.picture.at(column, row)

    def __getitem__(self, distance):
        return self.at(self.column + np.float32(distance[0]), self.row + np.float32(distance[1]))


def samples(image):
    return (image.astype(np.float32) / np.float32(np.iinfo(image.dtype).max)).view(Picture)


def codes(made, dtype):
    most = np.float32(np.iinfo(dtype).max)
    made = np.asarray(made)
    assert made.dtype == np.float32, made.dtype
    return np.floor(np.maximum(np.minimum(made, np.float32(1)), np.float32(0)) * most + np.float32(0.5)).astype(dtype)


def by_numpy(function, *images, **parameters):
    """What the conversions at the ends of a pipeline make of the function, by NumPy."""
    made = function(*[samples(image) for image in images],
                    **{name: value if isinstance(value, mr.Table) else np.float32(value) for name, value in parameters.items()})
    return codes(made, images[0].dtype)


@mr.filter(ranges={"strength": (-16, 16)})
def emboss(x, strength=1.0):
    """relief, lit from the upper left"""
    return x + (x[1, 1] - x[-1, -1]) * strength


@mr.filter
def vignette(x):
    across = (x.column - x.width / 2) / x.width
    down = (x.row - x.height / 2) / x.height
    return x * (1 - (across**2 + down**2))


@mr.filter(ranges={"low": (0, 1), "high": (0, 1)})
def window_between(x, low=0.25, high=0.75):
    inside = (x >= low) & (x <= high) | ~(x != 0)
    return np.where(inside, x, np.sqrt(np.abs(x - 0.5)))


@mr.filter
def corners(x):
    """Ties, and numbers of either sign."""
    steps = np.rint(x * 6.5) / 7 - np.floor(x * 3) * 0.125
    return np.clip(np.maximum(steps, -x[2, 0]) + np.ceil(x[0, -3] * 2.5) * 0.1, 0.1, np.float32(0.9))


@mr.filter
def wide(x):
    total = x[-3, 0] * 0.0
    for dy in range(-2, 3):
        for dx in range(-3, 4):
            total = total + x[dx, dy] * (1.0 / (1 + dx * dx + dy * dy))
    return total / 5.5


@mr.filter
def warmer_of(a, b, *, share: float):
    return np.maximum(a[0, 1] * share, b * (1 - share))


# Built-in filters, written once more.
@mr.filter
def my_blur(x):
    column = [(x[dx, -1] + x[dx, 1]) + (x[dx, 0] + x[dx, 0]) for dx in (-1, 0, 1)]
    return ((column[0] + column[2]) + (column[1] + column[1])) * 0.0625


@mr.filter(chroma="neutral")
def my_sobel_x(x):
    row = [x[1, dy] - x[-1, dy] for dy in (-1, 0, 1)]
    return (row[0] + row[2]) + (row[1] + row[1])


@mr.filter(chroma="neutral")
def my_sobel_y(x):
    column = [x[dx, 1] - x[dx, -1] for dx in (-1, 0, 1)]
    return (column[0] + column[2]) + (column[1] + column[1])


@mr.filter(chroma="neutral")
def my_magnitude(a, b):
    return mr.sqrt(a * a + b * b)


@mr.filter(ranges={"t": (-16, 16)}, chroma="neutral")
def my_threshold(x, *, t):
    return mr.where(x >= t, x, 0)


RANDOM = np.random.default_rng(7)
CURVE = np.linspace(1, 0, 300, dtype=np.float32) ** 2
KERNEL = RANDOM.normal(size=(5, 7)).astype(np.float32) * 0.1


@mr.filter
def bent(x):
    """A curve of NumPy's, between whose numbers lines are drawn."""
    place = x * 298.5
    left = mr.table(CURVE)[place]
    return left + (place - np.floor(place)) * (mr.table(CURVE)[place + 1] - left)


@mr.filter
def unrolled(x):
    total = x * 0.0
    for dy in range(5):
        for dx in range(7):
            total = total + x[dx - 3, dy - 2] * KERNEL[dy, dx]
    return total


@mr.filter
def repeated(x):
    """The same by two loops."""
    kernel = mr.table(KERNEL)
    return x * 0.0 + mr.total(kernel.length, lambda j: mr.total(
        kernel.columns, lambda i: x.at(x.column + (i - 3), x.row + (j - 2)) * kernel[j, i]))


@mr.filter(ranges={"share": (0, 4), "weights": (-4, 4)})
def along(x, share, *, weights: mr.Table):
    """Neighbours to the right, as many as there are weights."""
    found = mr.total(weights.length, lambda i: weights[i] * x.at(x.column + i, x.row))
    return x * (1 - share) + found * share / weights.length


@mr.filter
def displaced(x, by, *, far: float):
    """From where the second image says, held within bounds."""
    aside = np.clip((by - 0.5) * far, -far, far)
    return x.at(x.column + aside, x.row - aside)


@mr.filter
def last_of(x, *, several: mr.Table):
    """The greatest number below the pixel's, gone through one after the other."""
    return mr.fold(several.length, 0.0 * x, lambda so_far, i: np.where(several[i] < x, several[i], so_far))


@mr.filter(size=lambda width, height, by: (np.floor(width * by), np.rint(height * by)), ranges={"by": (0.01, 8)})
def scaled(x, by):
    """Linear between pixels."""
    column = (x.column + 0.5) * (x.width / x.made_width) - 0.5
    row = (x.row + 0.5) * (x.height / x.made_height) - 0.5
    a, b = column - np.floor(column), row - np.floor(row)
    top = x.at(column, row) * (1 - a) + x.at(column + 1, row) * a
    return top * (1 - b) + (x.at(column, row + 1) * (1 - a) + x.at(column + 1, row + 1) * a) * b


@mr.filter(size=lambda width, height: (height, 7))
def corner(x):
    return x[3, -1] + x[0, 0] * 0.25


@mr.filter
def steadied(x):
    return (x.frame(-2)[1, 0] + x) * 0.25 + x.frame(1) * 0.5


@mr.filter(geometric=True)
def mirrored(x):
    return x.at(x.width - 1 - x.column, x.row)


OWN = [bent, unrolled, repeated, along, displaced, last_of, scaled, corner, steadied, mirrored, emboss, vignette, window_between, corners, wide, warmer_of, my_blur, my_sobel_x, my_sobel_y, my_magnitude,
       my_threshold]


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
        for own, built_in in (("my_blur", "blur"), ("my_blur | my_sobel_x", "blur | sobel_x"),
                              ("my_threshold(0.31)", "threshold(0.31)"),
                              ("my_blur | [my_sobel_x, my_sobel_y] | my_magnitude | my_threshold(0.1)", "@A"),
                              ("blur | [my_sobel_x, sobel_y] | magnitude | rotate(12)",
                               "blur | [sobel_x, sobel_y] | magnitude | rotate(12)")):
            with self.subTest(own=own):
                np.testing.assert_array_equal(mr.Pipeline(own, filters=OWN, no_profile=True)(image),
                                              mr.Pipeline(built_in, no_profile=True)(image))

    def test_every_structure_and_fusion_gives_the_same_bits(self):
        image = self.image((2, 50, 90))
        for text in ("emboss(0.5) | [blur, my_blur] | warmer_of(0.5)", "repeated | along(0.5, [1, 2, 1])",
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
                for _ in range(1 if run == 1 else 20):  # what is told ends the run, and with it the compiling
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
            import numpy as np, test_filters as t
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

    def test_what_a_plane_of_chroma_gets_is_what_the_filter_says(self):
        passing = mr.filter(chroma="passes", name="passing")(lambda x: 1 - x)
        neutral = mr.filter(chroma="neutral", name="neutral")(lambda x: 1 - x)
        with mr.open("test:64x48@1") as source:
            frame, = source
            for text, check in (("passing", lambda u: np.testing.assert_array_equal(u, frame.planes[1])),
                                ("neutral", lambda u: self.assertEqual(np.unique(u).tolist(), [128]))):
                made, = mr.Pipeline(text, filters=[passing, neutral]).stream([frame], like=source.format)
                np.testing.assert_array_equal(made.planes[0], 255 - frame.planes[0])
                check(made.planes[1])

    def test_a_profile_is_of_what_the_filter_does_and_not_of_its_name(self):
        first = mr.filter(name="mine")(lambda x: x + x[0, 1])
        second = mr.filter(name="mine")(lambda x: x + x[0, 2])
        same = mr.filter(name="yours")(lambda x: x + x[0, 1])
        image = self.image((400, 32, 32), np.uint8)

        def from_profile(one):
            pipeline = mr.Pipeline(one.name, filters=[one], seed=1)
            pipeline(image)
            return pipeline.report()["decisions"]

        learnt = from_profile(first)
        self.assertFalse(learnt["from_profile"])
        self.assertFalse(from_profile(second)["from_profile"])
        if learnt["trials"] > 0:
            self.assertTrue(from_profile(same)["from_profile"])

    def test_parameters_have_the_ranges_and_defaults_that_were_given(self):
        image = self.image()
        np.testing.assert_array_equal(mr.Pipeline("emboss", filters=OWN)(image),
                                      mr.Pipeline("emboss(strength=1)", filters=OWN)(image))
        counted = mr.filter(ranges={"n": (1, 9)})(whole_number)
        for words, text in (("strength must be a number from -16 to 16, not '17'", "emboss(17)"),
                            ("share is missing", "[input, input] | warmer_of"),
                            ("did you mean 'emboss'", "embos"),
                            ("n must be a whole number from 1 to 9", "whole_number(2.5)"),
                            ("takes 2 inputs", "warmer_of(0.5)")):
            with self.assertRaisesRegex(mr.UsageError, words):
                mr.Pipeline(text, filters=[*OWN, counted])

    def test_filters_belong_to_the_pipeline_they_are_given_to(self):
        with self.assertRaisesRegex(mr.UsageError, "unknown filter 'emboss'"):
            mr.Pipeline("emboss(2)")
        for words, filters in (("there is a filter 'blur' already", [mr.filter(name="blur")(lambda x: x)]),
                               ("two filters are called 'emboss'", [emboss, emboss]),
                               ("put @millrace.filter before", [emboss.function])):
            with self.assertRaisesRegex(mr.UsageError, words):
                mr.Pipeline("blur", filters=filters)

    def test_a_filter_does_what_its_function_does_where_it_is_called(self):
        @mr.filter
        def twice(x):
            return vignette(x) + emboss(x, 0.25)

        image = self.image()
        np.testing.assert_array_equal(mr.Pipeline("twice", filters=[twice], no_profile=True)(image),
                                      by_numpy(lambda x: vignette.function(x) + emboss.function(x, np.float32(0.25)), image))

    def test_equal_arithmetic_is_written_once_and_what_is_not_used_not_at_all(self):
        @mr.filter
        def wasteful(x):
            x[5, 5] * 3
            return (x + 1) * (x + 1)

        self.assertEqual(wasteful.formula,
                         "inputs 1 coefficients 0; pixel 0 0 0; constant 3f800000; add 0 1; multiply 2 2")

    def test_what_it_tells_is_json(self):
        told = json.loads(json.dumps(emboss.told()))
        self.assertEqual(told["summary"], "relief, lit from the upper left")
        self.assertEqual(told["parameters"], [{"name": "strength", "type": "real", "minimum": -16, "maximum": 16,
                                               "default": 1}])


def whole_number(x, *, n: int):
    return x * n


if __name__ == "__main__":
    unittest.main()
