"""Tests exit codes, messages, streams and the summary of `millrace exec`. Argument: the program."""

import ctypes
import json
import os
import pwd
import resource
import select
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

MILLRACE = ""
KINDS = ""  # a program whose threads use different units


def without_crash(tries, run):
    """Call run() until the program does not end by SIGSEGV, at most so often. Return what the last call gave."""
    done = run()
    while done.returncode == -signal.SIGSEGV and (tries := tries - 1) > 0:
        done = run()
    return done


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

    def test_it_starts_with_few_libraries(self):
        if "MILLRACE_SANITIZED" in os.environ:
            self.skipTest("sanitized programs are linked with all libraries")
        program = os.path.join(os.path.dirname(os.path.realpath(MILLRACE)), "millrace-exec")
        loaded = subprocess.run([program], env={"LD_TRACE_LOADED_OBJECTS": "1"}, text=True, stdout=subprocess.PIPE, check=True).stdout
        names = {os.path.basename(line.split()[0]) for line in loaded.splitlines()}
        if "libsqlite3.so.0" in names:
            self.skipTest("this system lacks archives of some libraries, so all are shared")
        self.assertLessEqual({name for name in names if not name.startswith("ld-linux")}, {"linux-vdso.so.1", "libc.so.6", "libm.so.6"})
        # hwloc is loaded when a policy needs the machine's topology, Zydis when units are observed.
        done = self.run_exec("--policy", "one-to-one", "--units", "auto", "--", "sleep", "0.1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("cannot", done.stderr)

    def test_end_by_a_signal_is_passed_on(self):
        done = self.run_exec("--quiet", "--", "sh", "-c", "kill -TERM $$")
        self.assertEqual(done.returncode, -signal.SIGTERM)

    def test_missing_programs_end_as_in_a_shell(self):
        done = self.run_exec("--quiet", "--", "there-is-no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("there-is-no-such-program", done.stderr)

    def test_of_a_program_that_never_began_nothing_is_told_but_why(self):
        for program, code in (("there-is-no-such-program", 127), ("/", 126)):
            done = self.run_exec("--", program)
            self.assertEqual(done.returncode, code)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_names_of_threads_reach_the_terminal_as_text_only(self):
        script = r"""
import ctypes, os, threading, time
libc = ctypes.CDLL(None)
def choose():
    libc.prctl(15, b"\x1b[31mX\xff\n\x07", 0, 0, 0)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    time.sleep(1.5)
libc.prctl(15, b"\x1b]0;T\x07\xfe", 0, 0, 0)
threads = [threading.Thread(target=choose) for _ in range(2)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
        path = os.path.join(self.folder.name, "summary.json")
        for options in (["--policy", "one-to-one"], ["--policy", "none", "--sched", "batch"], ["--policy", "none", "--units", "auto"]):
            done = subprocess.run([MILLRACE, "exec", "-y", "--json", path, *options, "--", sys.executable, "-c", script],
                                  env=self.environment, timeout=120, stderr=subprocess.PIPE, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = done.stderr.decode("utf-8")  # fails if the text is invalid
            self.assertTrue(all(line.isprintable() for line in text.splitlines()), text)
            with open(path, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["exit"], 0)
        done = subprocess.run([MILLRACE, "exec", "--", "/nonexistent/\x1b[31mX\x07"], env=self.environment, timeout=120,
                              stderr=subprocess.PIPE, check=False)
        self.assertTrue(done.stderr.decode("utf-8").rstrip("\n").isprintable(), done.stderr)

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

    def test_a_program_that_forbids_the_time_stamp_counter_goes_on(self):
        script = ("import ctypes, os\n"
                  "if ctypes.CDLL(None).prctl(26, 2, 0, 0, 0) != 0: os._exit(77)\n"  # PR_SET_TSC, PR_TSC_SIGSEGV
                  "children = [os.posix_spawn('/bin/true', ['true'], {}) for _ in range(20)]\n"
                  "for child in children: os.waitpid(child, 0)\n"
                  "os._exit(5)\n")
        plain = subprocess.run([sys.executable, "-c", script], timeout=60).returncode
        if plain != 5:
            self.skipTest(f"SKIPPED: the kernel does not let a program forbid it here ({plain})")
        for birth in "ptrace", "poll":
            for policy in "one-to-one", "main-least-loaded":
                with self.subTest(birth=birth, policy=policy):
                    done = self.run_exec("--birth", birth, "--policy", policy, "--", sys.executable, "-c", script)
                    self.assertEqual(done.returncode, 5, done.stderr)

    def test_a_summary_is_not_written_over_what_the_run_reads_or_writes(self):
        path = os.path.join(self.folder.name, "precious")
        rules = "[[rule]]\nname = 'x'\ncpus = '0'\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write(rules)
        for what, options, words, streams in (
                ("the file of --policy", ["--policy", "rules=" + path], ["true"], {}),
                ("the program's standard input", [], ["true"], {"stdin": open(path, encoding="utf-8")}),
                ("the program's standard output", [], ["true"], {"stdout": open(path, "a", encoding="utf-8")}),
                ("the program's standard error", [], ["true"], {"stderr": open(path, "a", encoding="utf-8")}),
                ("a word of the program's command", [], ["cat", os.path.join(self.folder.name, ".", "precious")], {})):
            with self.subTest(what=what):
                done = subprocess.run([MILLRACE, "exec", "-y", "--json", path, *options, "--", *words],
                                      **{"capture_output": False, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL,
                                         "stderr": subprocess.PIPE, "text": True, "timeout": 60, **streams})
                for stream in streams.values():
                    stream.close()
                self.assertEqual(done.returncode, 2)
                with open(path, encoding="utf-8") as file:
                    kept = file.read()
                self.assertTrue(kept.startswith(rules))
                self.assertIn(what, done.stderr or kept)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(rules)

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
            # Call rt_sigaction by number, because the C library refuses these two signals. SIG_IGN is 1.
            number = {"x86_64": 13, "aarch64": 134}[os.uname().machine]
            action = (ctypes.c_ulong * 4)(1, 0, 0, 0)
            for kept in kept_by_the_library:
                libc.syscall(number, kept, ctypes.byref(action), None, 8)

        for birth in ("ptrace", "poll"):
            done = self.run_exec("--quiet", "--birth", birth, "--", "grep", "SigIgn", "/proc/self/status", preexec_fn=ignore)
            ignored = int(done.stdout.split()[1], 16)
            self.assertEqual([kept for kept in kept_by_the_library if not ignored >> (kept - 1) & 1], [], birth)

    def test_what_outlives_execution_reaches_the_program(self):
        # Prints the parent-death signal, the subreaper flag, timers, and a scheduling class that children do not inherit.
        script = r"""
import ctypes, os, signal
libc = ctypes.CDLL(None)
number = ctypes.c_int()
found = []
for question in (2, 37):  # PR_GET_PDEATHSIG, PR_GET_CHILD_SUBREAPER
    libc.prctl(question, ctypes.byref(number), 0, 0, 0)
    found.append(number.value)
for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    left, again = signal.getitimer(timer)
    found.append((90 < left < 101, again))  # the kernel adds a tick or two
print(found, hex(os.sched_getscheduler(0)), os.sched_getparam(0).sched_priority, os.getpriority(os.PRIO_PROCESS, 0))
"""

        def prepare(scheduler, priority):
            libc = ctypes.CDLL(None)
            os.nice(3)
            libc.prctl(1, int(signal.SIGTERM), 0, 0, 0)
            libc.prctl(36, 1, 0, 0, 0)
            for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
                signal.setitimer(timer, 100, 7)
            try:
                os.sched_setscheduler(0, scheduler | os.SCHED_RESET_ON_FORK, os.sched_param(priority))
            except PermissionError:
                os.sched_setscheduler(0, os.SCHED_BATCH | os.SCHED_RESET_ON_FORK, os.sched_param(0))

        for scheduler, priority in ((os.SCHED_OTHER, 0), (os.SCHED_IDLE, 0), (os.SCHED_RR, 3)):
            options = {"preexec_fn": lambda scheduler=scheduler, priority=priority: prepare(scheduler, priority)}
            expected = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, check=True, **options).stdout
            for birth in ("auto", "poll"):
                done = self.run_exec("--quiet", "--birth", birth, "--", sys.executable, "-c", script, **options)
                self.assertEqual(done.stdout, expected, f"{birth}: {done.stderr}")

    def test_variables_that_mean_this_process_mean_the_program(self):
        script = "\n".join(("import os", "own = str(os.getpid())",
                            "print(*(f'{name}={\"own\" if value == own else value}' for name, value in sorted(os.environ.items())"
                            " if name.startswith(('LISTEN_', 'WATCHDOG_', 'SYSTEMD_EXEC_'))))"))
        names = ("LISTEN_PID", "WATCHDOG_PID", "SYSTEMD_EXEC_PID")
        shell = "export LISTEN_FDS=1 LISTEN_PIDFDID=5; " + "; ".join(f"export {name}=%s" for name in names) + '; exec "$@"'
        for birth in ("ptrace", "poll"):
            for values, expected in ((("$$",) * 3, "LISTEN_FDS=1 LISTEN_PID=own SYSTEMD_EXEC_PID=own WATCHDOG_PID=own\n"),
                                     (("1", "$$", "x$$"), None), (("1", "''", "$$'0'"), None)):
                with self.subTest(birth=birth, values=values):
                    command = ["sh", "-c", shell % values, "sh", MILLRACE, "exec", "--quiet", "--birth", birth, "--",
                               sys.executable, "-c", script]
                    done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True, timeout=120, check=True)
                    if expected is not None:
                        self.assertEqual(done.stdout, expected)
                        continue
                    self.assertIn("LISTEN_PID=1 LISTEN_PIDFDID=5 ", done.stdout)  # other processes stay meant
                    self.assertEqual(done.stdout.count("=own"), values.count("$$"))

    def test_a_closed_stream_stays_closed(self):
        for number, stream in ((1, "stdout"), (2, "stderr")):
            path = os.path.join(self.folder.name, "summary.json")
            descriptors = f"test -e /proc/$$/fd/{number}"
            command = [MILLRACE, "exec", "-y", "--json", path, "--progress", "x", "--progress-from", stream, "--", "sh", "-c", descriptors]
            done = subprocess.run(["sh", "-c", f'exec "$@" {number}>&-', "sh", *command], env=self.environment, timeout=120,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            self.assertEqual(done.returncode, 1, stream)
            with open(path, encoding="utf-8") as file:
                self.assertIn("is closed, so no progress is read from it", str(json.load(file)["notes"]))

    def test_a_home_that_does_not_exist_is_not_made(self):
        missing = os.path.join(self.folder.name, "missing")
        del self.environment["XDG_CACHE_HOME"]
        self.environment["HOME"] = os.path.join(missing, "home")
        self.assertEqual(self.run_exec("--quiet", "--", "true").returncode, 0)
        self.assertFalse(os.path.exists(missing))

    def guardian_of(self, run):
        children = subprocess.run(["pgrep", "-P", str(run.pid), "millrace-guard"], text=True, stdout=subprocess.PIPE, check=False).stdout
        return int(children.split()[0]) if children else None

    def leave_placed(self, program, cpu):
        """Give a process class batch and one CPU, and kill millrace and its guardian."""
        command = [MILLRACE, "exec", "--quiet", "--attach", str(program.pid), "--sched", "batch", "--policy", f"cpus={cpu}"]
        with subprocess.Popen(command, env=self.environment) as run:
            while os.sched_getscheduler(program.pid) != os.SCHED_BATCH and run.poll() is None:
                os.sched_yield()
            os.kill(self.guardian_of(run), signal.SIGKILL)
            run.kill()
        self.assertEqual(os.sched_getscheduler(program.pid), os.SCHED_BATCH)

    def test_each_next_start_restores_what_a_killed_run_and_guardian_left(self):
        cpus = sorted(os.sched_getaffinity(0))
        taken = os.path.join(self.folder.name, "taken.json")
        with open(taken, "w", encoding="utf-8"):
            pass
        for code, arguments in ((0, ["--", "true"]), (127, ["--", "there-is-no-such-program"]), (2, ["--policy", "nonsense", "--", "true"]),
                                (2, ["--policy", "cpus=4000", "--", "true"]), (2, ["--json", taken, "--", "true"]),
                                (2, ["--attach", "4194305"]), (2, [])):
            with self.subTest(arguments), subprocess.Popen(["sleep", "600"]) as program:
                try:
                    before = os.sched_getaffinity(program.pid), os.sched_getscheduler(program.pid)
                    self.leave_placed(program, cpus[-1])
                    done = self.run_exec("--quiet", *arguments)
                    after = os.sched_getaffinity(program.pid), os.sched_getscheduler(program.pid)
                finally:
                    program.kill()
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertEqual(after, before)

    def test_a_mask_that_a_killed_run_left_is_no_reason_to_refuse_cpus(self):
        cpus = sorted(os.sched_getaffinity(0))
        with subprocess.Popen(["sleep", "600"]) as program:
            try:
                self.leave_placed(program, cpus[-1])
                command = [MILLRACE, "exec", "--quiet", "--attach", str(program.pid), "--policy", "cpus=" + ",".join(map(str, cpus))]
                with subprocess.Popen(command, env=self.environment, stderr=subprocess.PIPE, text=True) as run:
                    while self.guardian_of(run) is None and run.poll() is None:
                        os.sched_yield()
                    run.send_signal(signal.SIGINT)
                    errors = run.communicate()[1]
            finally:
                program.kill()
        self.assertEqual(run.returncode, 0, errors)

    def test_a_program_dies_with_its_parent_where_that_was_asked_for(self):
        script = f"setpriv --pdeathsig KILL {MILLRACE} exec --quiet -- sh -c 'echo $$; exec sleep 60' & wait"
        with subprocess.Popen(["sh", "-c", script], env=self.environment, stdout=subprocess.PIPE, text=True) as parent:
            program = int(parent.stdout.readline())
            descriptor = os.pidfd_open(program)
            parent.kill()
            ended = select.select([descriptor], [], [], 60)[0]
            os.close(descriptor)
        if not ended:
            os.kill(program, signal.SIGKILL)
        self.assertTrue(ended, "it runs on")

    def test_a_slice_is_no_reason_to_refuse_a_class_without_slices(self):
        idle = {"preexec_fn": lambda: os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))}
        for options in (["--slice", "5"], ["--policy", "one-to-one", "--slice", "5"]):
            done = self.run_exec("--quiet", *options, "--", "sh", "-c", "exit 7", **idle)
            if "Linux 6.12" in done.stderr:
                self.skipTest("this kernel has no slices")
            self.assertEqual(done.returncode, 7, done.stderr)

    def test_under_limits_that_are_too_tight_the_program_runs_without(self):
        # Each limit allows a program that loads nothing.
        limits = [(resource.RLIMIT_AS, size << 20) for size in (3, 8, 12, 16, 24, 32)]
        limits += [(resource.RLIMIT_STACK, size << 10) for size in (16, 32, 64)]
        limits += [(resource.RLIMIT_NOFILE, count) for count in (4, 5, 8, 12, 24)]
        for limit, value in limits:
            lower = {"preexec_fn": lambda limit=limit, value=value: resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))}
            # With so small a stack even the plain program may crash, because the kernel places stacks at random.
            tries = 50 if (limit, value) == (resource.RLIMIT_STACK, 16 << 10) else 1
            plain = without_crash(tries, lambda lower=lower: subprocess.run(
                ["sh", "-c", "exit 3"], check=False, stderr=subprocess.PIPE, **lower)).returncode
            for birth in ("auto", "poll"):
                done = without_crash(tries, lambda birth=birth, lower=lower: self.run_exec(
                    "--quiet", "--policy", "one-to-one", "--birth", birth, "--", "sh", "-c", "exit 3", **lower))
                self.assertEqual(done.returncode, plain, f"{limit} {value} by {birth}: {done.stderr}")
        done = self.run_exec("--", "there-is-no-such-program",
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8)))
        self.assertEqual(done.returncode, 127)
        self.assertIn("8 open files are too few to follow the program", done.stderr)

    def test_few_processes_are_left_to_the_program(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be a user who has no process")
        script = "/bin/true & /bin/true & /bin/true & wait; echo all"

        def prepare(most):
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
            os.setgroups([])
            os.setgid(54321)
            os.setuid(54321)

        environment = {name: value for name, value in self.environment.items() if not name.startswith("XDG_")}
        for most in (1, 2, 4, 5, 6, 7, 8, 12):
            outcomes = set()
            for words in ([], [MILLRACE, "exec", "--quiet", "--"], [MILLRACE, "exec", "--quiet", "--birth", "poll", "--policy", "one-to-one", "--"]):
                done = subprocess.run([*words, "sh", "-c", script], env={**environment, "HOME": "/nonexistent"}, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=120,
                                      preexec_fn=lambda most=most: prepare(most))
                outcomes.add((done.returncode, done.stdout))
            self.assertEqual(len(outcomes), 1, f"{most} processes: {outcomes}")
        self.assertEqual([name for name in os.listdir("/tmp") if name.startswith("millrace-54321")], [])

    def test_where_tracing_is_refused_births_are_polled(self):
        if os.uname().machine != "x86_64":
            self.skipTest("knows the numbers of x86-64 only")

        class Filter(ctypes.Structure):
            _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("value", ctypes.c_uint)]

        class Filters(ctypes.Structure):
            _fields_ = [("count", ctypes.c_ushort), ("filters", ctypes.POINTER(Filter))]

        def refuse_tracing():
            program = (Filter * 4)(Filter(0x20, 0, 0, 0), Filter(0x15, 0, 1, 101), Filter(0x06, 0, 0, 0x50001), Filter(0x06, 0, 0, 0x7fff0000))
            libc = ctypes.CDLL(None)
            libc.prctl(38, 1, 0, 0, 0)
            libc.prctl(22, 2, ctypes.byref(Filters(4, program)), 0, 0)

        self.births_are_polled(refuse_tracing, "not permitted")

    def test_where_millrace_itself_is_traced_births_are_polled(self):
        libc = ctypes.CDLL(None, use_errno=True)

        def be_traced():
            libc.ptrace(0, 0, None, None)  # PTRACE_TRACEME

        def follow(process):
            while True:
                _, status = os.waitpid(process.pid, 0)
                if not os.WIFSTOPPED(status):
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return
                stopped_by = os.WSTOPSIG(status)
                libc.ptrace(7, process.pid, None, ctypes.c_void_p(0 if stopped_by == signal.SIGTRAP else stopped_by))  # PTRACE_CONT

        self.births_are_polled(be_traced, "millrace itself is being traced", follow)

    def births_are_polled(self, before, reason, follow=subprocess.Popen.wait):
        """Threads are placed, and what a pinned thread starts counts all CPUs."""
        cpus = sorted(os.sched_getaffinity(0))
        rules = os.path.join(self.folder.name, "rules")
        with open(rules, "w", encoding="ascii") as file:
            file.write(f"born=1- cpus={cpus[-1]}\n")
        script = ("import os, subprocess, threading, time\n"
                  "def work():\n"
                  "    while len(os.sched_getaffinity(0)) > 1: time.sleep(0.01)\n"
                  "    told = subprocess.run(['nproc'], stdout=subprocess.PIPE, text=True).stdout\n"
                  "    print(told, end='', flush=True)\n"
                  "thread = threading.Thread(target=work)\nthread.start()\nthread.join()\n")
        path = os.path.join(self.folder.name, "summary.json")
        command = [MILLRACE, "exec", "--json", path, "--policy", "rules=" + rules, "--", sys.executable, "-c", script]
        with subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=before) as run:
            follow(run)
            output, errors = run.stdout.read(), run.stderr.read()
        self.assertEqual(run.returncode, 0, errors)
        self.assertEqual(output, f"{len(cpus)}\n", errors)
        with open(path, encoding="utf-8") as file:
            summary = json.load(file)
        self.assertEqual(summary["birth"]["way"], "poll", summary["birth"])
        self.assertIn(reason, summary["birth"]["reason"])
        self.assertEqual(summary["threads"]["left_alone"], [])

    def test_the_former_way_by_a_shim_is_polling_and_says_so(self):
        path = os.path.join(self.folder.name, "summary.json")
        done = self.run_exec("--quiet", "--json", path, "--birth", "shim", "--", "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("there is no shim any more", done.stderr)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["birth"]["way"], "poll")
        self.assertNotIn("shim", self.run_exec("--help").stdout)

    def test_programs_of_another_c_library_run(self):
        compiler = shutil.which("musl-gcc")
        if compiler is None:
            self.skipTest("musl-gcc is not here (Debian's musl-tools)")
        source = os.path.join(self.folder.name, "threads.c")
        with open(source, "w", encoding="ascii") as file:
            file.write("#include <pthread.h>\nstatic void* nothing(void* argument) { return argument; }\n"
                       "int main(void) { pthread_t thread; return pthread_create(&thread, 0, nothing, 0) || pthread_join(thread, 0) ? 1 : 5; }\n")
        program = os.path.join(self.folder.name, "threads")
        subprocess.run([compiler, "-o", program, source], check=True)
        for birth in ("auto", "ptrace", "poll"):
            for policy in ("auto", "one-to-one", "main-least-loaded"):
                done = self.run_exec("--quiet", "--birth", birth, "--policy", policy, "--", program)
                self.assertEqual((done.returncode, done.stderr), (5, ""), f"{birth} {policy}")

    def test_its_own_priority_and_mains_place_leave_the_program_what_it_had(self):
        count = str(len(os.sched_getaffinity(0)))
        done = self.run_exec("--quiet", "--policy", "main-least-loaded", "--priority", "19", "--", "sh", "-c", "nice; nproc")
        self.assertEqual(done.stdout.split(), [str(os.nice(0)), count], done.stderr)
        # Start a thread, so that main is placed, before asking for the count.
        done = self.run_exec("--quiet", "--policy", "main-least-loaded", "--", sys.executable, "-c",
                             "import os, threading; gate = threading.Event(); thread = threading.Thread(target=gate.wait);"
                             "thread.start(); print(len(os.sched_getaffinity(0))); gate.set(); thread.join()")
        self.assertEqual(done.stdout.split(), [count], done.stderr)

    def test_what_is_impossible_is_refused_before_anything_runs(self):
        for arguments in (["--policy", "nonsense"], ["--sched", "idle"], ["--slice", "0"], ["--slice", "500"],
                          ["--priority", "20"], ["--priority", "-21"], ["--priority", "5", "--learn", "40"],
                          ["--json", os.path.join(self.folder.name, "summary.json"), "--learn", "40"],
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
        # Other tests may use the CPUs.
        self.assertRegex(done.stderr, "learnt: (untouched|nothing, because)")
        # A single thread is not affected, so one run suffices.
        self.assertIn("left out, because it would change nothing: class batch\n", done.stderr)
        self.assertEqual(done.stderr.count(" s  untouched"), 1, done.stderr)
        failing = self.run_exec("--learn", "40", "--", "sh", "-c", "exit 3")
        self.assertEqual(failing.returncode, 1)
        self.assertIn("exit code 3", failing.stderr)

    def test_a_locked_database_delays_nothing_and_is_told_of_in_one_line(self):
        self.run_exec("--", "true")
        database = sqlite3.connect(os.path.join(self.folder.name, "millrace", "profiles.db"), isolation_level=None)
        database.execute("CREATE TABLE other (word TEXT)")  # an empty file is not opened
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")
        done = self.run_exec("--", "sh", "-c", "exit 3")  # fails after a while if this waits for the lock
        self.assertEqual(done.returncode, 3)
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

    def test_output_that_cannot_be_written_is_never_lost_silently(self):
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        path = os.path.join(self.folder.name, "output")
        cases = {"full": ("/dev/full", None), "limited": (path, lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (50, limit)))}
        for size in (100, 1000000):
            for case, (file, prepare) in cases.items():
                with self.subTest(case=case, size=size), open(file, "wb") as output:
                    done = subprocess.run([MILLRACE, "exec", "--quiet", "--policy", "none", "--progress", "x", "--progress-from", "stdout",
                                           "--", "head", "-c", str(size), "/dev/zero"], env=self.environment, stdout=output,
                                          stderr=subprocess.PIPE, text=True, timeout=120, check=False, preexec_fn=prepare)
                    self.assertIn(done.returncode, (1, -signal.SIGPIPE) if size > 100 else (1,))
                    self.assertEqual(done.stderr.count("cannot write the program's standard output"), 1, done.stderr)
                    self.assertIn("No space left" if case == "full" else "File too large", done.stderr)

    def test_messages_that_cannot_be_written_leave_the_program_alone(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MILLRACE, "exec", "--quiet", "--policy", "none", "--progress", "x", "--", "sh", "-c",
                                   "trap '' PIPE; for i in 1 2 3; do echo message >&2; done; exit 3"],
                                  env=self.environment, stderr=full, timeout=120, check=False)
        self.assertEqual(done.returncode, 3)

    def test_output_passes_unchanged_and_the_end_waits_for_no_descendant(self):
        for stream in ("stdout", "stderr"):
            # The descendant keeps both streams open.
            process = subprocess.Popen([MILLRACE, "exec", "--quiet", "--policy", "none", "--progress", "x", "--progress-from", stream, "--",
                                        "sh", "-c", f"sleep 600 & echo $!; head -c 300000 /dev/zero >/dev/{stream}; exit 6"],
                                       env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            descendant = int(process.stdout.readline())
            pipe = process.stdout if stream == "stdout" else process.stderr
            read = 0
            while read < 300000:
                read += len(pipe.read1(65536))
            self.assertEqual((process.wait(timeout=120), read), (6, 300000))
            os.kill(descendant, signal.SIGKILL)  # fails if it has ended
            process.communicate()

    def test_a_program_whose_reader_has_gone_ends_as_without_it(self):
        for program in ("yes", "yes y | head -c 1000000"):
            done = subprocess.run(["bash", "-c", f"'{MILLRACE}' exec --quiet --policy none --progress x --progress-from stdout -- "
                                   f"sh -c '{program}' | head -c 1; echo ${{PIPESTATUS[0]}}"],
                                  env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            self.assertEqual((done.stdout[1:], done.stderr), ("141\n", ""))

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


class RightsOfFiles(unittest.TestCase):
    """Rights granted to the file of a program would be available to every user."""

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to give a file rights")
        self.folder = tempfile.TemporaryDirectory(prefix="millrace-rights-test-")
        os.chmod(self.folder.name, 0o755)
        built = os.path.dirname(os.path.realpath(MILLRACE))
        for name in ("millrace", "millrace-exec", "millrace-daemon"):
            path = os.path.join(built, name)
            if not os.path.exists(path):
                path = os.path.join(built, "..", "libexec", "millrace", name)
            shutil.copy(path, self.folder.name)
        self.nobody = pwd.getpwnam("nobody")
        self.environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}

    def tearDown(self):
        self.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_as_nobody(self, *command):
        return subprocess.run(command, env=self.environment, user=self.nobody.pw_uid, group=self.nobody.pw_gid, extra_groups=[],
                              text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)

    def refused(self, done):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("hand", done.stderr)

    def calls(self):
        return ((self.path("millrace"), "exec", "--", "echo", "ran"), (self.path("millrace-exec"), "exec", "--policy", "./x.so", "--", "echo", "ran"),
                (self.path("millrace"), "exec", "--attach", str(os.getpid())), (self.path("millrace"), "status"))

    def test_capabilities_of_files_are_used_for_nobody(self):
        sys_nice = 1 << 23
        for name in ("millrace-exec", "millrace-daemon"):
            try:  # struct vfs_cap_data: version 2 and effective, permitted, inheritable
                os.setxattr(self.path(name), "security.capability", struct.pack("<5I", 0x02000001, sys_nice, 0, 0, 0))
            except OSError as error:
                self.skipTest(f"files have no capabilities here: {error}")
        for call in self.calls():
            self.refused(self.run_as_nobody(*call))

    def test_set_user_id_programs_do_nothing_for_anybody(self):
        for names in (("millrace",), ("millrace-exec", "millrace-daemon")):
            for name in names:
                os.chmod(self.path(name), 0o4755)
            if "nosuid" in subprocess.run(["findmnt", "-no", "OPTIONS", "--target", self.folder.name], stdout=subprocess.PIPE, text=True, check=False).stdout:
                self.skipTest("programs cannot change their user in the temporary folder")
            for call in self.calls():
                if os.path.basename(call[0]) in names or names[0] != "millrace":
                    self.refused(self.run_as_nobody(*call))
            for name in names:
                os.chmod(self.path(name), 0o755)

    def test_what_a_user_was_given_is_used(self):
        done = subprocess.run(["setpriv", "--reuid", str(self.nobody.pw_uid), "--regid", str(self.nobody.pw_gid), "--clear-groups",
                               "--inh-caps", "+sys_nice", "--ambient-caps", "+sys_nice",
                               self.path("millrace"), "exec", "--quiet", "--sched", "rr", "--", "sh", "-c", "chrt -p $$"],
                              env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("SCHED_RR", done.stdout)
        self.assertEqual(self.run_as_nobody(self.path("millrace"), "exec", "--quiet", "--", "echo", "ran").stdout, "ran\n")


if __name__ == "__main__":
    MILLRACE = sys.argv.pop(1)
    KINDS = sys.argv.pop(1)
    unittest.main()
