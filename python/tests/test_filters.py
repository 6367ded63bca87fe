"""Filters of one's own: what NumPy makes of the same function in 32-bit floats, in every schedule.

    python -m unittest discover python/tests
"""

import importlib.util
import json
import math
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


def by_numpy(function, *images, **parameters):
    """What the conversions at the ends of a pipeline make of the function, by NumPy."""
    dtype = images[0].dtype
    most = np.float32(np.iinfo(dtype).max)
    made = function(*[(image.astype(np.float32) / most).view(Picture) for image in images],
                    **{name: np.float32(value) for name, value in parameters.items()})
    made = np.asarray(made)
    assert made.dtype == np.float32, made.dtype
    return np.floor(np.maximum(np.minimum(made, np.float32(1)), np.float32(0)) * most + np.float32(0.5)).astype(dtype)


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


OWN = [emboss, vignette, window_between, corners, wide, warmer_of, my_blur, my_sobel_x, my_sobel_y, my_magnitude,
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
        text = "emboss(0.5) | [blur, my_blur] | warmer_of(0.5)"
        expected = mr.Pipeline(text, filters=OWN, structure="sequential", fusion="none", threads=1)(image)
        for structure in "sequential", "tiled", "sliding", "backward-cached", "backward", "backward-store":
            for fusion in ("all",) if structure in ("backward", "backward-store") else ("none", "pointwise", "stencil"):
                with self.subTest(structure=structure, fusion=fusion):
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


def whole_number(x, *, n: int):
    return x * n


class Mistakes(unittest.TestCase):
    def refused(self, words, function, line=None, **options):
        """The line of the function, counted from its first, that the message names."""
        with self.assertRaisesRegex(mr.UsageError, words) as caught:
            mr.filter(**options)(function) if options else mr.filter(function)
        message = str(caught.exception)
        self.assertNotIn("\n", message)
        code = function.__code__
        self.assertTrue(message.startswith(f"{code.co_filename}:{code.co_firstlineno + (line or 0)}: "), message)

    def test_are_told_with_the_line_of_the_function(self):
        def asks(x):
            y = x + 1
            return x if y > 2 else y

        def chains(x):
            return mr.where(
                0 < x < 1, x, 0)

        def negates(x):
            return mr.where(not x > 0, x, 0)

        def reads_far(x):
            return (x +
                    x[65, 0])

        def reads_between(x):
            return x[0.5, 0]

        def reads_like_numpy(x):
            return x[1]

        def reads_what_was_computed(x):
            y = x * 2
            return y[1, 0]

        def calls_math(x):
            return math.sqrt(x)

        def calls_numpy(x):
            return np.exp(x)

        def sums(x):
            return np.sum(x)

        def adds_an_array(x):
            return x + np.ones(3)

        def adds_text(x):
            return x + "1"

        def adds_infinity(x):
            return x + math.inf

        def adds_too_much(x):
            return x + 1e39

        def adds_a_condition(x):
            return x + (x > 1)

        def mixes(x):
            return mr.where(x, 1, 0)

        def raises_to_a_power(x):
            return x ** 3

        def repeats(x, n=3):
            for _ in range(n):
                x = x + 1
            return x

        def is_long(x):
            for i in range(600):
                x = x * 1.5 + i
            return x

        for words, function, line in (("use where", asks, 2), ("a < b < c", chains, 2), ("use where", negates, 1),
                                      ("at most 64 away", reads_far, 2), ("x\\[dx, dy\\]", reads_between, 1),
                                      ("x\\[dx, dy\\]", reads_like_numpy, 1), ("has no neighbours", reads_what_was_computed, 2),
                                      ("functions of `math`", calls_math, 1),
                                      ("np.exp is not there", calls_numpy, 1), ("np.sum is not there", sums, 1),
                                      ("ndarray is not a number", adds_an_array, 1), ("'1' is not a number", adds_text, 1),
                                      ("not a finite number", adds_infinity, 1), ("32 bits", adds_too_much, 1),
                                      ("where\\(condition, 1, 0\\)", adds_a_condition, 1),
                                      ("takes a condition", mixes, 1), ("\\*\\* 2 is", raises_to_a_power, 1),
                                      ("repetitions", repeats, 1), ("at most 1024 operations", is_long, 2)):
            with self.subTest(function=function.__name__):
                self.refused(words, function, line)

    def test_of_the_declaration_are_told_with_its_line(self):
        def unread(x, y):
            return x

        def constant(x):
            return 0.5

        def condition(x):
            return x > 0.5

        def any_number(x, *more):
            return x

        def none():
            return 1

        def plain(x, t=2):
            return x * t

        def Upper(x):
            return x

        for words, function, options in (("does not depend on the pixels of y", unread, {}),
                                         ("returns 0.5, not a number", constant, {}), ("returns a condition", condition, {}),
                                         ("\\*more is not known", any_number, {}), ("1 to 4 images", none, {}),
                                         ("no name for a filter", Upper, {}), ("default is within", plain,
                                                                             {"ranges": {"t": (0, 1)}}),
                                         ("two numbers", plain, {"ranges": {"t": 3}}),
                                         ("does not take", plain, {"ranges": {"u": (0, 1)}}),
                                         ("chroma is", plain, {"chroma": "blue"}),
                                         ("no name for a filter", plain, {"name": "a b"})):
            with self.subTest(function=function.__name__, **options):
                self.refused(words, function, 0, **options)

    def test_of_the_function_itself_are_its_own(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            @mr.filter
            def raises(x):
                raise KeyError("mine")

    def test_a_number_that_was_kept_serves_no_other_filter(self):
        kept = []
        mr.filter(name="first")(lambda x: kept.append(x) or x)
        self.refused("kept for another", lambda x: x + kept[0], 0, name="second")

    def test_what_it_tells_is_json(self):
        told = json.loads(json.dumps(emboss.told()))
        self.assertEqual(told["summary"], "relief, lit from the upper left")
        self.assertEqual(told["parameters"], [{"name": "strength", "type": "real", "minimum": -16, "maximum": 16,
                                               "default": 1}])


if __name__ == "__main__":
    unittest.main()
