"""What a user sees of `millrace exec`: exit codes, messages, streams, summary. Argument: the program."""

import ctypes
import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

MILLRACE = ""
KINDS = ""  # a program whose threads use different units


class Exec(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="millrace-exec-test-")
        self.environment = {**os.environ, "XDG_CACHE_HOME": self.folder.name, "XDG_RUNTIME_DIR": self.folder.name}

    def tearDown(self):
        self.folder.cleanup()

    def run_exec(self, *arguments, **options):
        return subprocess.run([MILLRACE, "exec", *arguments], env=self.environment, text=True, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, **options)

    def test_exit_code_and_streams_are_the_programs(self):
        done = self.run_exec("--quiet", "--", "sh", "-c", "read x; echo out $x; echo err >&2; exit 9", input="in\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (9, "out in\n", "err\n"))

    def test_end_by_a_signal_is_passed_on(self):
        done = self.run_exec("--quiet", "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(done.returncode, -signal.SIGTERM)

    def test_missing_programs_end_as_in_a_shell(self):
        done = self.run_exec("--quiet", "--", "there-is-no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("there-is-no-such-program", done.stderr)

    def test_arguments_of_the_program_are_left_alone(self):
        done = self.run_exec("--quiet", "--", "echo", "--policy", "--", "--json", "-h", "a b")
        self.assertEqual(done.stdout, "--policy -- --json -h a b\n")

    def test_summary_goes_to_standard_error_and_json_to_its_file(self):
        path = os.path.join(self.folder.name, "summary.json")
        done = self.run_exec("--policy", "one-to-one", "--json", path, "--", "true")
        self.assertIn("true: exit code 0", done.stderr)
        self.assertEqual(done.stdout, "")
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
        self.assertEqual(summary["exit"], 0)
        self.assertEqual(summary["threads"]["births"], 1)

    def test_a_summary_is_not_written_over_another_unless_asked(self):
        path = os.path.join(self.folder.name, "summary.json")
        mark = os.path.join(self.folder.name, "mark")
        with open(path, "w", encoding="utf-8") as file:
            file.write("precious")
        done = self.run_exec("--json", path, "--", "touch", mark)
        self.assertEqual(done.returncode, 2)
        self.assertIn("summary.json: exists; give -y to overwrite it", done.stderr)
        self.assertFalse(os.path.exists(mark))
        self.assertEqual(self.run_exec("-y", "--json", path, "--", "touch", mark).returncode, 0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["exit"], 0)

    def test_the_program_finds_the_signals_it_would_have_found(self):
        command = ["sh", "-c", "grep -E 'Sig(Blk|Ign)' /proc/self/status"]
        without = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertEqual(self.run_exec("--quiet", "--", *command).stdout, without)

    def test_signals_that_the_c_library_keeps_for_itself_stay_ignored(self):
        kept_by_the_library = (32, 33)

        def ignore():
            libc = ctypes.CDLL(None)
            # rt_sigaction, by its number, as the library refuses these two; SIG_IGN is 1.
            number = {"x86_64": 13, "aarch64": 134}[os.uname().machine]
            action = (ctypes.c_ulong * 4)(1, 0, 0, 0)
            for kept in kept_by_the_library:
                libc.syscall(number, kept, ctypes.byref(action), None, 8)

        for birth in ("ptrace", "shim", "poll"):
            done = self.run_exec("--quiet", "--birth", birth, "--", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
            ignored = int(done.stdout.split()[1], 16)
            self.assertEqual([kept for kept in kept_by_the_library if not ignored >> (kept - 1) & 1], [], birth)

    def test_its_own_priority_and_mains_place_leave_the_program_what_it_had(self):
        count = str(len(os.sched_getaffinity(0)))
        done = self.run_exec("--quiet", "--policy", "main-least-loaded", "--priority", "19", "--", "sh", "-c", "nice; nproc")
        self.assertEqual(done.stdout.split(), [str(os.nice(0)), count], done.stderr)
        # A thread, and so a place for main, before the count is asked for.
        done = self.run_exec("--quiet", "--policy", "main-least-loaded", "--", sys.executable, "-c",
                             "import os, threading; gate = threading.Event(); thread = threading.Thread(target=gate.wait);"
                             "thread.start(); print(len(os.sched_getaffinity(0))); gate.set(); thread.join()")
        self.assertEqual(done.stdout.split(), [count], done.stderr)

    def test_what_is_impossible_is_refused_before_anything_runs(self):
        for arguments in (["--policy", "nonsense"], ["--sched", "idle"], ["--slice", "0"], ["--slice", "500"],
                          ["--priority", "20"], ["--priority", "-21"], ["--priority", "5", "--learn", "40"],
                          ["--birth", "magic"], ["--units", "magic"],
                          ["--units", "workover", "--policy", "spread"], ["--units", "auto", "--learn", "40"], ["--progress", "([0-9"], ["--policy", "cpus=x"], ["--policy", "cpus=0;999"],
                          ["--policy", "rules=/dev/zero"],
                          ["--policy", "rules=/nonexistent"], ["--policy", "./nonexistent.so"], ["--learn", "2"],
                          ["--policy", "auto", "--sched", "batch"], ["--progress", "x", "--progress-from", "1"]):
            done = self.run_exec(*arguments, "--", "echo", "began")
            self.assertEqual(done.returncode, 2, arguments)
            self.assertEqual(done.stdout, "", arguments)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual(self.run_exec().returncode, 2)
        self.assertEqual(self.run_exec("--attach", "4194305").returncode, 2)

    def test_the_summary_says_what_each_thread_uses(self):
        path = os.path.join(self.folder.name, "summary.json")
        done = self.run_exec("--policy", "none", "--units", "auto", "--json", path, "--", KINDS, "0.4", "int", "fp", "chase:40M")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, encoding="utf-8") as file:
            units = json.load(file)["units"]
        if units["source"] == "none":
            self.assertNotEqual(units["missing"], "")
            self.skipTest("nothing can be sampled here: " + units["missing"])
        self.assertEqual(units["source"], "samples")
        greatest = {}
        for thread in units["threads"]:
            if thread["demand"] is not None:
                self.assertAlmostEqual(sum(thread["demand"].values()), 1, delta=0.01)
                greatest[thread["name"]] = max(thread["demand"], key=thread["demand"].get)
        self.assertEqual((greatest["int"], greatest["fp"]), ("int", "fp"), units)
        self.assertIn(greatest["chase:40M"], ("l2", "llc", "dram"), units)
        self.assertIn("  units      by samples; threads that use most:", done.stderr)

    def test_nothing_is_observed_unless_asked(self):
        path = os.path.join(self.folder.name, "summary.json")
        done = self.run_exec("--json", path, "--", "true")
        with open(path, encoding="utf-8") as file:
            self.assertIsNone(json.load(file)["units"])
        self.assertNotIn("units", done.stderr)

    def test_learning_stores_what_it_finds(self):
        done = self.run_exec("--learn", "40", "--", "sh", "-c", "exit 0")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Other tests may take the CPUs.
        self.assertRegex(done.stderr, "learnt: (untouched|nothing, as others)")
        # A thread that is alone notices nothing: one run shows it.
        self.assertIn("left out, as its threads would get what they have: class batch\n", done.stderr)
        self.assertEqual(done.stderr.count(" s  untouched"), 1, done.stderr)
        failing = self.run_exec("--learn", "40", "--", "sh", "-c", "exit 3")
        self.assertEqual(failing.returncode, 1)
        self.assertIn("exit code 3", failing.stderr)

    def test_a_locked_database_delays_nothing_and_is_told_of_in_one_line(self):
        self.run_exec("--", "true")
        database = sqlite3.connect(os.path.join(self.folder.name, "millrace", "profiles.db"), isolation_level=None)
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        done = self.run_exec("--", "sh", "-c", "exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertLess(time.monotonic() - began, 4, "it has waited for the lock")
        self.assertEqual(done.stderr.count("locked"), 1, done.stderr)
        database.close()

    def test_a_standard_error_that_takes_nothing_leaves_the_exit_code_alone(self):
        reading, writing = os.pipe()
        os.close(reading)
        for error in (open("/dev/full", "w", encoding="ascii"), writing):  # pylint: disable=consider-using-with
            done = subprocess.run([MILLRACE, "exec", "--policy", "none", "--", "sh", "-c", "exit 3"],
                                  env=self.environment, stderr=error, timeout=120, check=False)
            self.assertEqual(done.returncode, 3)
        os.close(writing)

    def test_a_limit_on_file_sizes_ends_nothing(self):
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        done = self.run_exec("--", "sh", "-c", "exit 3",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit)))
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_patterns_take_the_time_of_a_line(self):
        done = self.run_exec("--quiet", "--policy", "none", "--progress", "(x+x+)+y", "--", "sh", "-c",
                             "head -c 3000 /dev/zero | tr '\\0' x >&2; echo >&2")
        self.assertEqual(done.returncode, 0)

    def test_rules_and_cpu_lists_place_threads(self):
        cpu = max(os.sched_getaffinity(0))
        rules = os.path.join(self.folder.name, "rules")
        with open(rules, "w", encoding="ascii") as file:
            file.write(f"other cpus={cpu}  # not main\n")
        script = "import os,threading as t; x=t.Thread(target=lambda: print(*os.sched_getaffinity(0))); x.start(); x.join()"
        for policy in (f"rules={rules}", f"cpus={cpu}"):
            done = self.run_exec("--quiet", "--birth", "ptrace", "--policy", policy, "--", sys.executable, "-c", script)
            self.assertEqual(done.stdout, f"{cpu}\n", policy)


if __name__ == "__main__":
    MILLRACE = sys.argv.pop(1)
    KINDS = sys.argv.pop(1)
    unittest.main()
