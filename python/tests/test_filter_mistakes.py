"""Mistakes in filter functions are reported in one line, with the line of the function.

python -m unittest discover python/tests
"""

import math
import unittest

import millrace as mr
import numpy as np


class Mistakes(unittest.TestCase):
    def refused(self, words, function, line=None, **options):
        """Check that the message names the line, counted from the first line of the function."""
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

        def is_repeated_by_a_pixel(x):
            return mr.total(
                x * 4, lambda i: x + i)

        def is_repeated_often(x):
            return mr.total(5000, lambda i: x + i)

        def keeps_a_step(x):
            kept = []
            made = mr.total(3, lambda i: kept.append(x + i) or x)
            return made + kept[0]

        def returns_no_number(x):
            return mr.fold(3, 0, lambda so_far, i: None)

        def is_deep(x):
            return mr.total(2, lambda a: mr.total(2, lambda b: mr.total(2, lambda c: mr.total(
                2, lambda d: x + d))))

        def reads_a_table_by_two(x):
            return mr.table([1, 2])[x, 0]

        def makes_a_table_of_pixels(x):
            return mr.table([x, 1])[0]

        def has_an_empty_table(x):
            return mr.table([])[x]

        def reads_between_frames(x):
            return x.frame(0.5)

        def asks_for_a_length(x, *, several: mr.Table):
            return x + len(several)

        def goes_through_a_list(x, *, several: mr.Table):
            for one in several:
                x = x + one
            return x

        for words, function, line in (("same for every pixel", is_repeated_by_a_pixel, 1),
                                      ("0 to 4096 times", is_repeated_often, 1), ("kept for later", keeps_a_step, 3),
                                      ("a step makes a number", returns_no_number, 1),
                                      ("within each other", is_deep, 1), ("read by as many numbers", reads_a_table_by_two, 1),
                                      ("array of numbers|cannot become an array", makes_a_table_of_pixels, 1),
                                      ("at least one number", has_an_empty_table, 1),
                                      ("the one before", reads_between_frames, 1), (".length is", asks_for_a_length, 1),
                                      ("are a pipeline's", goes_through_a_list, 1), ("use where", asks, 2), ("a < b < c", chains, 2), ("use where", negates, 1),
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

    def test_that_would_go_on_for_ever_are_ended(self):
        def does_the_same_again(x):
            while True:
                x + 1

        def joins_the_same_again(x):
            held = x > 0
            while True:
                held = held & ~held

        def calls_itself(x):
            return calls_itself(x)

        def calls_itself_by_turns(x, *, several: mr.Table):
            def other():
                return several[x] * other()

            return other()

        for words, function, line in (("does a loop not end", does_the_same_again, 2),
                                      ("does a loop not end", joins_the_same_again, 3),
                                      ("call itself without end", calls_itself, 1),
                                      ("call itself without end", calls_itself_by_turns, 2)):
            with self.subTest(function=function.__name__):
                self.refused(words, function, line)

    def test_what_is_made_of_itself_many_times_over_is_written_once(self):
        def doubled(x):
            count, held = x.width, x > 0
            for _ in range(100):
                count = count + count
                held = ~(held & held) | held
            return mr.where(held, mr.total(count, lambda i: x), x)

        made = mr.filter(doubled)
        self.assertLess(made.formula.count(";"), 600)

        def nested(x):
            held = x > 0
            for i in range(300):
                held = held & (x != i)
            return mr.where(held, x, 0)

        mr.filter(nested)

    def test_with_what_is_no_number_are_told_with_the_line(self):
        def reads_a_table_by_text(x):
            return x + mr.table([1, 2])["1"]

        def reads_a_table_by_text_and_a_pixel(x):
            return x + mr.table([[1, 2]])["1", x]

        def reads_a_table_without_bounds(x):
            return x + mr.table([[1, 2]])[math.nan, x]

        def repeats_by_text(x):
            return mr.total("3", lambda i: x)

        def repeats_by_nothing(x):
            return mr.total(math.nan, lambda i: x)

        def adds_many_digits(x):
            return x + 10**5000

        def divides_down(x):
            return x // 2

        def asks_for_a_rest(x):
            return 1 % x

        def clips_into(x):
            return np.clip(x, 0, 1, out=3)

        def asks_where_alone(x):
            return np.where(x > 0)

        def reads_a_far_frame(x):
            return x.frame(10**30)

        for words, function in (("by numbers, not by '1'", reads_a_table_by_text),
                                ("'1' is not a number", reads_a_table_by_text_and_a_pixel),
                                ("nan is not a finite", reads_a_table_without_bounds),
                                ("'3' is not a number", repeats_by_text), ("nan is not a finite", repeats_by_nothing),
                                ("thousands of digits", adds_many_digits), ("mr.floor\\(a / b\\) is", divides_down),
                                ("mr.floor\\(a / b\\) is", asks_for_a_rest), ("but not so: .*'out'", clips_into),
                                ("but not so: missing", asks_where_alone), ("at most 32 away", reads_a_far_frame)):
            with self.subTest(function=function.__name__):
                self.refused(words, function, 1)

    def test_of_a_step_that_raised_are_told_though_the_function_caught_it(self):
        def catches(x):
            try:
                return mr.total(3, lambda i: x + "1")
            except ValueError:
                return x

        self.refused("has to come out", catches, 0)

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

        def of_a_list_first(x, *, several: mr.Table, t: float):
            return several[x] * t

        def of_two_frames(x, y):
            return x.frame(1) + y

        def of_nine_frames(x):
            return sum((x.frame(k) for k in range(1, 9)), x)

        def with_a_list_by_default(x, *, several: mr.Table = 1):
            return several[x]

        def with_seven(x, a=1, b=1, c=1, d=1, e=1, f=1, g=1):
            return x + a + b + c + d + e + f + g

        def counts(x, n: int = 1.5):
            return x * n

        def with_a_list(x, *, several: mr.Table):
            return x[0, 0] * several[0]

        size = {"size": lambda width, height: (width, height)}
        for words, function, options in (("last parameter", of_a_list_first, {}), ("filters of one image", of_two_frames, {}),
                                         ("at most 8 frames", of_nine_frames, {}),
                                         ("has no default", with_a_list_by_default, {}),
                                         ("at most 6 parameters beside its size", with_seven, size),
                                         ("size takes width", plain, {"size": lambda width, u: (width, u)}),
                                         ("returns two numbers", plain, {"size": lambda width: width}),
                                         ("size is a function", plain, {"size": (3, 4)}),
                                         ("does not depend on the pixels of y", unread, {}),
                                         ("returns 0.5, not a number", constant, {}), ("returns a condition", condition, {}),
                                         ("\\*more is not known", any_number, {}), ("1 to 8 images", none, {}),
                                         ("not a valid name of a filter", Upper, {}), ("default is within", plain,
                                                                             {"ranges": {"t": (0, 1)}}),
                                         ("two numbers", plain, {"ranges": {"t": 3}}),
                                         ("does not take", plain, {"ranges": {"u": (0, 1)}}),
                                         ("chroma is", plain, {"chroma": "blue"}),
                                         ("has a size and passes chroma", plain,
                                          {"chroma": "passes", "size": lambda width, height: (width, height)}),
                                         ("32 bits", plain, {"ranges": {"t": (0, 1e39)}}),
                                         ("whole number, and its default none", counts, {}),
                                         ("ranges has the range", plain, {"ranges": None}),
                                         ("ranges has the range", plain, {"ranges": [("t", (0, 1))]}),
                                         ("3 is not a valid name of a filter", plain, {"name": 3}),
                                         ("give a function of Python's", plain, {"size": max}),
                                         ("not on the numbers of tables", with_a_list,
                                          {"size": lambda width, height, several: (several[0], height)}),
                                         ("not a valid name of a filter", plain, {"name": "a b"})):
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
        self.refused("kept for another", lambda x: x + kept[0], 0, name="other")
        mr.filter(name="first")(lambda x: kept.append(x > 0) or x)
        self.refused("kept for another", lambda x: mr.where((x > 0) & kept[1], x, 0), 0, name="other")
        self.refused("kept for another", lambda x: mr.where(kept[1], x, 0), 0, name="other")
        self.refused("True is not a condition", lambda x: mr.where(True & (x > 0), x, 0), 0, name="other")


if __name__ == "__main__":
    unittest.main()
