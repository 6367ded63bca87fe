"""What a user sees of `millrace daemon` and of its clients. Arguments: the program; one whose threads use different units."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

MILLRACE = ""
KINDS = ""
PATIENCE = 60  # seconds after which something hangs


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


class Daemon(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="millrace-daemon-test-")
        self.environment = {**os.environ, "XDG_RUNTIME_DIR": self.folder.name, "XDG_CONFIG_HOME": self.folder.name,
                            "XDG_CACHE_HOME": self.folder.name, "TERM": "dumb"}
        self.processes = []

    def tearDown(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.folder.cleanup()

    def start(self, *command, **options):
        process = subprocess.Popen(command, env=self.environment, text=True, **options)
        self.processes.append(process)
        return process

    def start_daemon(self, settings="", *options):
        config = os.path.join(self.folder.name, "settings.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(settings)
        daemon = self.start(MILLRACE, "daemon", "--user", "--config", config, *options, stderr=subprocess.PIPE)
        self.assertIn("listens at", daemon.stderr.readline())
        return daemon

    def ask(self, *arguments):
        return subprocess.run([MILLRACE, *arguments], env=self.environment, text=True, timeout=PATIENCE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

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
        program = self.start(KINDS, "30", "int", "fp")
        done = self.ask("watch", str(program.pid))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("kinds is watched; it is only observed", done.stdout)

        def known():
            programs = self.status()["programs"]
            return programs and sum(1 for thread in programs[0]["thread_list"] if thread["demand"]) >= 2
        self.assertTrue(eventually(known))
        threads = {thread["name"]: thread for thread in self.status()["programs"][0]["thread_list"]}
        self.assertGreater(threads["fp"]["demand"]["fp"], 0.5)
        self.assertGreater(threads["int"]["demand"]["int"], 0.5)
        picture = self.ask("top", "--once").stdout
        self.assertRegex(picture, r"fp +\d\.\d\d +f{2,}")
        self.assertIn("observes only", picture)
        self.assertIn("kinds", self.ask("status").stdout)
        self.assertIn("may use CPUs", self.ask("explain", "kinds").stdout)
        metrics = self.ask("status", "--metrics").stdout
        self.assertRegex(metrics, r'millrace_program_threads\{program="kinds",cgroup="[^"]*"\} 3')
        self.assertNotIn("thread=", metrics)
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

    def test_exec_leaves_placing_to_a_daemon_that_acts_and_works_alone_without(self):
        def run():
            path = os.path.join(self.folder.name, "summary.json")
            done = self.ask("exec", "--quiet", "--units", "auto", "--no-profile", "-y", "--json", path, "--",
                            KINDS, "0.3", "fp")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                return json.load(file)
        alone = run()
        self.assertNotIn("daemon", alone["units"]["not_placed"])
        self.start_daemon('act = true\nmachine = "believe"\n')
        announced = run()
        self.assertEqual(announced["units"]["not_placed"], "the daemon places its threads")
        threads = {thread["name"]: thread for thread in announced["units"]["threads"]}
        self.assertGreater(threads["fp"]["demand"]["fp"], 0.5)

    def test_wrong_use_is_told_in_a_line(self):
        self.start_daemon()
        for verb, code, text in ((["watch"], 2, "give one of"), (["watch", "1", "--exe", "x"], 2, "give one of"),
                                 (["watch", "4194303"], 2, "no process 4194303"), (["unwatch", "1"], 1, "nothing"),
                                 (["daemon", "--user", "--config", "/nonexistent"], 2, "/nonexistent"),
                                 (["daemon", "--user"], 1, "another daemon of this user"),
                                 (["explain"], 2, "program")):
            done = self.ask(*verb)
            self.assertEqual(done.returncode, code, (verb, done.stderr))
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_what_is_no_request_is_answered_and_the_daemon_ends_when_asked(self):
        daemon = self.start_daemon()
        path = os.path.join(self.folder.name, "millrace", "daemon.sock")
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
        path = os.path.join(self.folder.name, "given.sock")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            listener.listen()
            number = listener.fileno()
            # The shell becomes the daemon, whose number LISTEN_PID names; 3 is where it is looked for.
            command = f'exec 3<&{number} && LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" daemon --user'
            daemon = self.start("sh", "-c", command, MILLRACE, pass_fds=[number], stderr=subprocess.PIPE)
            self.assertIn("service manager", daemon.stderr.readline())
            self.assertEqual(self.ask("status", "--socket", path).returncode, 0)


if __name__ == "__main__":
    MILLRACE, KINDS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=0)
