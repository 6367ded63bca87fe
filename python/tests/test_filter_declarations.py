"""Declarations of custom filters: names, parameters, chroma, and their descriptions.

python -m unittest discover python/tests
"""

import copy
import json
import os
import pickle
import sys
import tempfile
import threading
import unittest

import millrace as mr
import numpy as np
from filters_testing import OWN, emboss, warmer_of

if "XDG_CACHE_HOME" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp()


def whole_number(x, *, n: int):
    return x * n


class Declarations(unittest.TestCase):
    def image(self, shape=(41, 70), dtype=np.uint16):
        return np.random.default_rng(5).integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)

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
        for words, filters in (("'second', which is a branch", [mr.filter(name="second")(lambda x: x)]),
                               ("there is a filter 'blur' already", [mr.filter(name="blur")(lambda x: x)]),
                               ("two filters are called 'emboss'", [emboss, emboss]),
                               ("put @millrace.filter before", [emboss.function])):
            with self.assertRaisesRegex(mr.UsageError, words):
                mr.Pipeline("blur", filters=filters)

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

    def test_a_filter_and_a_pipeline_can_be_pickled(self):
        image = self.image()
        expected = mr.Pipeline("emboss(2)", filters=[emboss])(image)
        nameless = mr.filter(name="half")(lambda x: x * 0.5)
        for one in emboss, copy.copy(emboss), copy.deepcopy(emboss), pickle.loads(pickle.dumps(emboss)):
            np.testing.assert_array_equal(mr.Pipeline("emboss(2)", filters=[one])(image), expected)
        pipeline = pickle.loads(pickle.dumps(mr.Pipeline("emboss(2)", filters=[emboss, nameless], no_profile=True)))
        np.testing.assert_array_equal(pipeline(image), expected)
        with self.assertRaisesRegex(mr.UsageError, "its function stayed where it was"):
            pickle.loads(pickle.dumps(emboss))(image)

    def test_filters_are_made_in_several_threads_at_once(self):
        def made(times):
            return mr.filter(name="n")(lambda x: mr.total(3, lambda i: mr.total(times, lambda j: x * (i + j)))).formula

        expected = {times: made(times) for times in range(4)}
        wrong = []

        def work(times):
            for _ in range(40):
                try:
                    if made(times) != expected[times]:
                        wrong.append(times)
                except mr.UsageError as error:
                    wrong.append(str(error))

        switching = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        self.addCleanup(sys.setswitchinterval, switching)
        threads = [threading.Thread(target=work, args=(times,)) for times in expected]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        self.assertEqual(wrong, [])

    def test_a_filter_that_takes_for_ever_is_refused(self):
        endless = mr.filter(name="endless")(lambda x: mr.total(x.width, lambda i: mr.total(4096, lambda j: x + j)))
        mr.Pipeline("endless", filters=[endless])(self.image((3, 4)))
        with self.assertRaisesRegex(mr.UsageError, "endless would take 1966560 steps for each pixel of a plane of 480x1"):
            mr.Pipeline("endless", filters=[endless])(self.image((1, 480)))


if __name__ == "__main__":
    unittest.main()
