"""Runs `millrace bench adapt` on a small input and checks its output.

usage: bench_test.py MILLRACE
"""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
import unittest

MILLRACE = sys.argv[1]
NUMBERS = {"best_ms", "sequential_ms", "converged_share", "seconds_to_5_percent", "loss", "against_sequential",
           "second_run_share", "deciding_share", "default_share", "reckoned_loss"}
COUNTS = {"candidates", "timed", "frames_to_5_percent", "trials", "alarms"}
NAMES = {"best", "incumbent"}
SEARCH = {"exhaustive", "race_share", "took_s", "brief_ms"}
CASE = {"pipeline": "@D", "width": 64, "height": 48, "threads": 1, "seconds": 0.1}


def adapt(*words):
    with tempfile.TemporaryDirectory() as folder:
        command = [MILLRACE, "bench", "adapt", "--pipelines", "@D", "--sizes", "64x48", "--threads", "1", "--seconds", "0.1",
                   "--search-seconds", "0.1", "--json", "adapt.json", *words]
        start = time.monotonic()
        done = subprocess.run(command, capture_output=True, timeout=120, cwd=folder,
                              env=os.environ | {"XDG_CACHE_HOME": folder})
        wall = time.monotonic() - start
        assert (done.returncode, done.stderr) == (0, b""), done
        with open(os.path.join(folder, "adapt.json"), encoding="utf-8") as file:
            return done.stdout.decode(), json.load(file), wall


class Adapt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.table, cls.rows, cls.wall = adapt()
        cls.row = cls.rows[0]

    def test_there_is_a_row_for_each_case_with_every_field(self):
        self.assertEqual(len(self.rows), 1)
        self.assertEqual(set(self.row), set(CASE) | NUMBERS | COUNTS | NAMES | SEARCH)
        self.assertEqual({name: self.row[name] for name in CASE}, CASE)
        for name in NUMBERS:
            self.assertTrue(math.isfinite(self.row[name]), name)
        for name in COUNTS:
            self.assertIsInstance(self.row[name], int, name)
            self.assertGreaterEqual(self.row[name], 0, name)
        for name in NAMES:
            self.assertIn(", 1 thread", self.row[name], name)

    def test_what_is_a_time_or_a_ratio_of_times_is_above_zero_and_losses_are_less_than_all(self):
        for name in ("best_ms", "sequential_ms", "converged_share", "against_sequential", "second_run_share",
                     "default_share"):
            self.assertGreater(self.row[name], 0, name)
        for name in "deciding_share", "reckoned_loss":
            self.assertGreaterEqual(self.row[name], 0, name)
            self.assertLess(self.row[name], 1, name)
        self.assertLess(self.row["loss"], 1)

    def test_seconds_and_frames_until_within_5_percent_are_there_or_missing_together(self):
        if self.row["frames_to_5_percent"] == 0:
            self.assertEqual(self.row["seconds_to_5_percent"], -1)
        else:
            self.assertGreater(self.row["seconds_to_5_percent"], 0)

    def test_the_best_is_one_of_those_timed_which_are_in_order_and_leave_out_what_cannot_win(self):
        brief = self.row["brief_ms"]
        self.assertEqual(len(brief), self.row["timed"])
        self.assertLess(len(brief), self.row["candidates"])
        self.assertEqual([ms for _, ms in brief], sorted(ms for _, ms in brief))
        names = [name for name, _ in brief]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn(self.row["best"], names)
        self.assertFalse([name for name in names if name.startswith("backward-store")])
        self.assertEqual(len({name.split(", ")[-1] for name in names}), 1, "one instruction set")

    def test_the_parts_of_the_time_taken_add_up_to_no_more_than_the_whole_nor_that_to_more_than_passed(self):
        took = dict(self.row["took_s"])
        whole = took.pop("whole")
        self.assertEqual(set(took), {"compiling", "searching", "adapting", "second_run"})
        self.assertGreaterEqual(min(took.values()), 0)
        self.assertGreaterEqual(took["adapting"], CASE["seconds"])
        self.assertLessEqual(sum(took.values()), whole)
        self.assertLessEqual(whole, self.wall)

    def test_the_table_has_the_case_the_seconds_it_took_and_the_best_schedule(self):
        heading, line, summary = self.table.splitlines()
        self.assertEqual(line.split()[:3], ["@D", "64x48", "1"])
        self.assertIn("took s", heading)
        self.assertIn(f"{self.row['took_s']['whole']:.1f}", line.split())
        self.assertTrue(line.endswith("  " + self.row["best"]))
        self.assertIn("geometric mean against sequential", summary)

    def test_exhaustively_all_are_timed_and_the_race_is_compared(self):
        table, (row,), _ = adapt("--exhaustive")
        self.assertTrue(row["exhaustive"])
        self.assertEqual(row["timed"], row["candidates"])
        self.assertLessEqual({name for name, _ in self.row["brief_ms"]}, {name for name, _ in row["brief_ms"]})
        self.assertGreater(row["race_share"], 0)
        self.assertIn("what the race finds has", table)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
