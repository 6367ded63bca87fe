"""Predictions, compared with formulas worked out here."""

import unittest

import millrace as mr
from millrace import models


class Models(unittest.TestCase):
    def test_a_serial_stage_bounds_the_speed(self):
        answer = models.predict("load serial 1ms cv 0; work 4ms cv 0", threads=[1, 2, 4, 16], items=1000, formulas=True)
        self.assertEqual(answer.method, "formulas")
        self.assertAlmostEqual(answer.sequential_seconds, 5.0, 6)
        self.assertAlmostEqual(answer.serial_seconds, 1.0, 6)
        self.assertEqual(answer.slowest_serial_stage, "load")
        self.assertEqual([stage.name for stage in answer.stages], ["load", "work"])
        stealing = {row.cores: row for row in answer.predictions if row.strategy == "stealing"}
        self.assertEqual(sorted(stealing), [1, 2, 4, 16])
        self.assertAlmostEqual(stealing[2].speed_up, 2.0, 1)  # 5 ms of work on 2 cores
        self.assertLessEqual(stealing[16].speed_up, 5.0)  # load takes 1 of 5
        self.assertIn(answer.recommended, answer.predictions)
        self.assertTrue(answer.why)

    def test_simulations_count_what_they_are_given(self):
        one = models.simulate("work 4ms cv 0", cores=2, items=1000)
        self.assertEqual((one.source_items, one.items_out, one.cores), (1000, 1000, 2))
        self.assertAlmostEqual(one.seconds, 4e-3 * 1000, 6)  # the first stage takes one item at a time
        self.assertAlmostEqual(one.busy_core_seconds, 4.0, 6)
        self.assertEqual(one.stages, (models.StageWork("work", 1000, one.stages[0].busy_s),))
        again = models.simulate("load serial 1ms; work 4ms", cores=4, strategy="pools", items=500, seed=3)
        self.assertEqual(again, models.simulate("load serial 1ms; work 4ms", cores=4, strategy="pools", items=500, seed=3))
        self.assertEqual(models.simulate("work 1ms", machine="pack:2 core:3 pu:2", items=10).cores, 6)

    def test_mistakes_are_told_in_one_line(self):
        for words, call in (("did you mean|work", lambda: models.predict("work")),
                            ("threads is a whole number", lambda: models.predict("work 1ms", threads=[0])),
                            ("threads is a whole number", lambda: models.predict("work 1ms", threads=2.5)),
                            ("'luck' is not a strategy", lambda: models.simulate("work 1ms", cores=1, strategy="luck")),
                            ("not both", lambda: models.simulate("work 1ms", cores=1, machine="core:2")),
                            ("/nowhere.toml", lambda: models.predict("/nowhere.toml")),
                            ("numbers and words", lambda: models.predict("work 1ms", items=object())),
                            ("give a pipeline", lambda: models.predict(""))):
            with self.subTest(words=words), self.assertRaisesRegex(mr.UsageError, words) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
