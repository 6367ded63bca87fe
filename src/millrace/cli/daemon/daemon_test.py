"""Tests `millrace daemon` and its clients as a user sees them. Arguments: the program; a program whose threads use
different units."""

import contextlib
import ctypes
import fcntl
import json
import os
import platform
import pty
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest
import urllib.request
import xml.etree.ElementTree

MILLRACE = ""
KINDS = ""
PATIENCE = 60  # after so many seconds something hangs


def eventually(condition):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.02)
    return None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def without_perf():
    """Forbid perf_event_open from now on, as in containers."""
    load, equal, ret, perf_event_open, denied, allowed = 0x20, 0x15, 0x06, 298, 0x00050001, 0x7FFF0000
    code = b"".join(struct.pack("HBBI", *one) for one in (
        (load, 0, 0, 0), (equal, 0, 1, perf_event_open), (ret, 0, 0, denied), (ret, 0, 0, allowed)))
    kept = ctypes.create_string_buffer(code)
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(kept)))
    libc = ctypes.CDLL(None, use_errno=True)
    no_new_privileges, set_seccomp, by_filter = 38, 22, 2
    libc.prctl(no_new_privileges, 1, 0, 0, 0)
    if libc.prctl(set_seccomp, by_filter, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


class Terminal:
    """A terminal that a program takes for the user's."""
    def __init__(self, start, rows, columns):
        self.ours, its = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(its)
        self.its = its
        self.text = b""

        def take():
            os.setsid()
            fcntl.ioctl(its, termios.TIOCSCTTY, 0)
        self.process = start(take, its)
        os.set_blocking(self.ours, False)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        try:
            self.text += os.read(self.ours, 1 << 16)
        except (BlockingIOError, OSError):
            pass
        return self.text

    def shows(self, *words):
        return eventually(lambda: all(word in self.read() for word in words))

    def ended(self):
        eventually(lambda: [self.read(), self.process.poll()][1] is not None)  # keep reading its output
        self.read()
        return self.process.wait(PATIENCE)

    def close(self):
        os.close(self.ours)
        os.close(self.its)


class Daemon(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="millrace-daemon-test-")
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.folder, "XDG_CONFIG_HOME": self.folder,
                            "XDG_CACHE_HOME": self.folder, "TERM": "dumb"}
        self.processes = []

    def tearDown(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        # The guardian of a killed daemon may still use the folder.
        self.assertTrue(eventually(lambda: shutil.rmtree(self.folder, ignore_errors=True)
                                   or not os.path.exists(self.folder)))

    def start(self, *command, **options):
        process = subprocess.Popen(command, env=self.environment, text=True, **options)
        self.processes.append(process)
        return process

    def start_daemon(self, settings="", *options):
        config = os.path.join(self.folder, "settings.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(settings)
        daemon = self.start(MILLRACE, "daemon", "--user", "--config", config, *options, stderr=subprocess.PIPE)
        self.lines_until_ready(daemon)
        return daemon

    def lines_until_ready(self, daemon):
        lines = []
        for line in daemon.stderr:
            if "listens at" in line:
                return lines
            if "of other users" not in line:  # root may lack some privileges in a test environment
                lines.append(line)
        self.fail(f"the daemon ended: {lines}")

    def ask(self, *arguments):
        return subprocess.run([MILLRACE, *arguments], env=self.environment, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def need_sampling(self):
        for lack in self.status()["daemon"]["lacks"]:
            if "what threads use" in lack:
                self.skipTest(lack)

    def status(self):
        return json.loads(self.ask("status", "--json").stdout)

    def test_without_a_daemon_clients_say_how_to_start_one(self):
        for verb in (["status"], ["watch", str(os.getpid())], ["top", "--once"]):
            done = self.ask(*verb)
            self.assertEqual(done.returncode, 1, verb)
            self.assertIn("millrace daemon --user", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_program_is_watched_explained_and_let_go(self):
        self.start_daemon()
        self.need_sampling()
        program = self.start(KINDS, "30", "int", "fp")
        done = self.ask("watch", str(program.pid))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("watching kinds; it is only observed", done.stdout)

        def known():
            programs = self.status()["programs"]
            return programs and sum(1 for thread in programs[0]["thread_list"] if thread["demand"]) >= 2
        self.assertTrue(eventually(known))
        threads = {thread["name"]: thread for thread in self.status()["programs"][0]["thread_list"]}
        self.assertGreater(threads["fp"]["demand"]["fp"], 0.5)
        self.assertGreater(threads["int"]["demand"]["int"], 0.5)
        picture = self.ask("top", "--once").stdout
        # The length of a thread's bar is its share of CPU time, which can be near zero on a busy machine.
        self.assertRegex(picture, r"kinds +\d+ +3 +\d+\.\d\d +[ifs12Ld]{20}")
        self.assertRegex(picture, r"fp +\d\.\d\d")
        self.assertIn("observes only", picture)
        self.assertIn("kinds", self.ask("status").stdout)
        self.assertIn("may use CPUs", self.ask("explain", "kinds").stdout)
        metrics = self.ask("status", "--metrics").stdout
        self.assertRegex(metrics, r'millrace_program_threads\{program="kinds",cgroup="[^"]*"\} 3')
        self.assertNotIn("thread=", metrics)
        record = os.path.join(self.folder, "status.json")
        with open(record, "w", encoding="utf-8") as file:
            file.write(self.ask("status", "--json").stdout)
        page = xml.etree.ElementTree.fromstring(self.ask("report", record, "-o", "-", "-q").stdout)
        self.assertIn("floating point", "".join(page.itertext()))
        self.assertEqual(self.ask("pause", str(program.pid)).returncode, 0)
        self.assertEqual(self.ask("unwatch", str(program.pid)).returncode, 0)
        self.assertEqual(self.status()["programs"], [])
        self.assertEqual(self.ask("explain", "kinds").returncode, 1)

    def test_programs_that_settings_name_are_watched_by_themselves_and_told_to_prometheus(self):
        port = free_port()
        self.start_daemon(f'metrics = "127.0.0.1:{port}"\n[[include]]\nexe = "{os.path.realpath(KINDS)}"\n')
        program = self.start(KINDS, "30", "int")
        found = eventually(lambda: [one["pid"] for one in self.status()["programs"]])
        self.assertIn(program.pid, found)

        def scraped():
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as reply:
                    return 'program="kinds"' in reply.read().decode()
            except OSError:
                return False
        self.assertTrue(eventually(scraped))
        # Clients that connect and stay silent do not block others for long.
        with contextlib.ExitStack() as silent:
            for _ in range(3):
                silent.enter_context(socket.create_connection(("127.0.0.1", port)))
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
                self.assertEqual(reply.status, 200)

    def test_exec_leaves_placing_to_a_daemon_that_acts_and_works_alone_without(self):
        def run():
            path = os.path.join(self.folder, "summary.json")
            done = self.ask("exec", "--quiet", "--units", "auto", "--no-profile", "-y", "--json", path, "--",
                            KINDS, "0.3", "fp")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        alone = run()
        self.assertNotIn("daemon", alone["units"]["not_placed"])
        self.start_daemon('act = true\nmachine = "believe"\n')
        self.need_sampling()
        announced = run()
        self.assertEqual(announced["units"]["not_placed"], "the daemon places its threads")
        threads = {thread["name"]: thread for thread in announced["units"]["threads"]}
        self.assertGreater(threads["fp"]["demand"]["fp"], 0.5)

    def test_top_follows_the_window_and_leaves_the_terminal_as_it_was(self):
        self.start_daemon()
        program = self.start(KINDS, "60", "int")
        self.assertEqual(self.ask("watch", str(program.pid)).returncode, 0)
        self.environment["TERM"] = "xterm"
        ways = {"q": lambda top: os.write(top.ours, b"\x1b[Bq"),
                "Ctrl-C": lambda top: os.write(top.ours, b"\x03"),
                "SIGTERM": lambda top: top.process.terminate()}
        for name, end in ways.items():
            with self.subTest(end=name):
                top = Terminal(lambda take, its: self.start(
                    MILLRACE, "top", "--every", "30", stdin=its, stdout=its, stderr=its, preexec_fn=take), 24, 100)
                try:
                    self.assertTrue(top.shows(b"\x1b[?1049h", b"share execution units", b"kinds", b"q ends"), top.text)
                    self.assertTrue(termios.tcgetattr(top.its)[3] & termios.ECHO == 0)
                    top.text = b""
                    top.resize(40, 50)
                    self.assertTrue(top.shows(b"\x1b[40", b"q ends"), top.text)
                    end(top)
                    self.assertEqual(top.ended(), 0, top.text)
                    self.assertIn(b"\x1b[?1049l", top.text)
                    self.assertEqual(termios.tcgetattr(top.its), top.before)
                finally:
                    top.close()

    def test_top_goes_on_where_the_window_changes_while_it_waits_for_an_answer(self):
        self.environment["TERM"] = "xterm"
        path = os.path.join(self.folder, "slow.sock")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path)
            server.listen()

            def answer():
                client = server.accept()[0]
                with client, client.makefile("rwb") as lines:
                    for _ in lines:
                        time.sleep(0.3)
                        lines.write(b'{"parameters": {"programs": [], "groups": ["0"]}}\n')
                        lines.flush()
            threading.Thread(target=answer, daemon=True).start()
            top = Terminal(lambda take, its: self.start(
                MILLRACE, "top", "--every", "0.1", "--socket", path, stdin=its, stdout=its, stderr=its, preexec_fn=take), 24, 100)
            try:
                self.assertTrue(top.shows(b"q ends"), top.text)
                for number in range(20):
                    top.resize(20 + number, 60 + number)
                    time.sleep(0.05)
                top.text = b""
                top.resize(44, 90)
                self.assertTrue(top.shows(b"\x1b[44", b"q ends"), top.text)
                os.write(top.ours, b"q")
                self.assertEqual(top.ended(), 0, top.text)
            finally:
                top.close()

    def test_top_pauses_and_tells_when_the_daemon_ends(self):
        daemon = self.start_daemon()
        self.environment["TERM"] = "xterm"
        top = Terminal(lambda take, its: self.start(
            MILLRACE, "top", "--every", "0.1", stdin=its, stdout=its, stderr=subprocess.PIPE, preexec_fn=take), 24, 100)
        try:
            self.assertTrue(top.shows(b"q ends"), top.text)
            os.write(top.ours, b"p")
            self.assertTrue(eventually(lambda: self.status()["daemon"]["paused"]))
            daemon.kill()
            self.assertEqual(top.ended(), 1)
            self.assertIn(b"\x1b[?1049l", top.text)
            self.assertEqual(termios.tcgetattr(top.its), top.before)
            self.assertEqual(top.process.stderr.read().count("\n"), 1)
        finally:
            top.close()

    def test_where_top_cannot_draw_it_says_so_and_prints_where_there_is_no_terminal(self):
        self.start_daemon()
        self.assertIn("share execution units", self.ask("top").stdout)
        self.environment["TERM"] = "dumb"
        top = Terminal(lambda take, its: self.start(
            MILLRACE, "top", stdin=its, stdout=its, stderr=subprocess.PIPE, preexec_fn=take), 24, 80)
        try:
            self.assertEqual(top.ended(), 2)
            self.assertIn("--once", top.process.stderr.read())
            self.assertEqual(termios.tcgetattr(top.its), top.before)
        finally:
            top.close()

    def lacking(self, preexec=None, wrap=(), settings="", options=()):
        """Return the messages of a daemon that lacks something."""
        config = os.path.join(self.folder, "settings.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(settings)
        daemon = self.start(*wrap, MILLRACE, "daemon", "--user", "--config", config, *options,
                            stderr=subprocess.PIPE, preexec_fn=preexec)
        return self.lines_until_ready(daemon)

    def watches(self, *options):
        program = self.start(KINDS, "30", "fp", "fp")
        self.assertEqual(self.ask("watch", str(program.pid), *options).returncode, 0)
        return program

    @unittest.skipUnless(platform.machine() == "x86_64", "the filter is for x86-64")
    def test_without_perf_it_says_so_and_watches(self):
        said = self.lacking(without_perf)
        self.assertEqual(len(said), 1, said)
        self.assertIn("does not see what threads use", said[0])
        self.watches()
        self.assertIn("does not see what threads use", self.ask("status").stdout)
        self.assertEqual(self.status()["programs"][0]["threads"], 3)

    def test_without_sys_it_says_so_and_watches(self):
        wrap = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys && exec "$0" "$@"')
        if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("no mounts of its own here")
        said = self.lacking(wrap=wrap)
        self.assertIn("nothing can be read in /sys", "".join(said))
        self.assertTrue(all(line.startswith("millrace daemon: ") for line in said), said)
        self.watches()
        self.need_sampling()
        self.assertTrue(eventually(lambda: self.status()["programs"][0]["demand"]))

    def test_where_nothing_can_be_journalled_nothing_is_changed(self):
        act = 'act = true\nrule = "workover"\njudge = false\nmachine = "believe"\n'
        full = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        self.lacking(full, settings=act)
        program = self.watches()
        self.need_sampling()
        self.assertTrue(eventually(lambda: self.status()["programs"][0]["demand"]))
        self.assertIn("nothing is changed that could not be undone", self.ask("status").stdout)
        self.assertEqual(os.sched_getaffinity(program.pid), os.sched_getaffinity(0))

    def test_without_a_folder_for_journals_it_says_so_and_listens_elsewhere(self):
        with open(os.path.join(self.folder, "millrace"), "w", encoding="utf-8"):
            pass
        path = os.path.join(self.folder, "elsewhere.sock")
        said = self.lacking(options=("--socket", path))
        self.assertIn("places nothing, as it could not be undone", "".join(said))
        self.watches("--socket", path)
        # The file is in the way of settings, too.
        settings = os.path.join(self.folder, "settings.toml")
        with open(settings, "w", encoding="utf-8"):
            pass
        done = self.ask("daemon", "--user", "--config", settings)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)

    def test_wrong_use_is_told_in_a_line(self):
        self.start_daemon()
        for verb, code, text in ((["watch"], 2, "give one of"), (["watch", "1", "--exe", "x"], 2, "give one of"),
                                 (["watch", "4194303"], 2, "no process 4194303"), (["unwatch", "1"], 1, "nothing"),
                                 (["daemon", "--user", "--config", "/nonexistent"], 2, "/nonexistent"),
                                 (["daemon", "--user"], 1, "another daemon of this user"),
                                 (["watch", "--exe", b"*/\xff"], 2, r"--exe: '*/\xff' is not UTF-8"),
                                 (["watch", "--exe", "*/\x1b[31m"], 2, r"--exe: '*/\x1b[31m'"),
                                 (["unwatch", "--cgroup", "/\x1b[31m"], 2, r"--cgroup: '/\x1b[31m'"),
                                 (["explain"], 2, "NAME is missing")):
            done = self.ask(*verb)
            self.assertEqual(done.returncode, code, (verb, done.stderr))
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_what_is_no_request_is_answered_and_the_daemon_ends_when_asked(self):
        daemon = self.start_daemon()
        path = os.path.join(self.folder, "millrace", "daemon.sock")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(PATIENCE)
            client.connect(path)
            client.sendall(b'\xff\x00{\n{"method":"org.varlink.service.GetInfo"}\n')
            lines = b""
            while lines.count(b"\n") < 2:
                lines += client.recv(4096)
        first, second = (json.loads(line) for line in lines.splitlines())
        self.assertIn("error", first)
        self.assertIn("org.millrace.daemon1", second["parameters"]["interfaces"])
        daemon.send_signal(signal.SIGTERM)
        self.assertEqual(daemon.wait(PATIENCE), 0)
        self.assertFalse(os.path.exists(path))

    def test_a_listening_socket_of_the_service_manager_is_taken_over(self):
        path = os.path.join(self.folder, "given.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            number = listener.fileno()
            # The shell becomes the daemon, so its process ID is LISTEN_PID. The daemon expects descriptor 3.
            command = f'exec 3<&{number} && LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" daemon --user'
            daemon = self.start("sh", "-c", command, MILLRACE, pass_fds=[number], stderr=subprocess.PIPE)
            self.lines_until_ready(daemon)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "millrace", "daemon.sock")))
            self.assertEqual(self.ask("status", "--socket", path).returncode, 0)


if __name__ == "__main__":
    MILLRACE, KINDS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=0)
