"""A live split over several nodes: the output must equal that of one run, even if nodes are lost.

usage: cut_test.py MILLRACE

Uses its own network namespace if possible, else the loopback of this machine.
"""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest

from cluster_testing import ARGUMENTS, ENVIRONMENT, MILLRACE, SANITIZED, SOAK, Case, frames_of, main, run, without_loss

IN_NAMESPACE = "MILLRACE_TEST_NAMESPACE"
PIPELINE = "blur | difference(2) | temporal_average(3) | unsharp(1, 0.5)"


class Cut(Case):
    def setUp(self):
        super().setUp()
        self.nodes = []

    def head(self, pipeline, source, output, *words, at="127.0.0.1:0", **more):
        """Start the head, and find out its address for nodes."""
        if str(output).endswith(".mkv"):
            words = without_loss(words)
        process = self.began(["split", pipeline, source, "-o", output, "--listen", at, *words],
                             stderr=subprocess.PIPE, **more)
        said, notes = [], threading.Condition()  # belong to this head, even if the test starts another
        self.said, self.notes = said, notes

        def listen():
            for line in process.stderr:
                with notes:
                    said.append(line.decode(errors="replace").rstrip("\n"))
                    notes.notify_all()
            with notes:
                said.append("")
                notes.notify_all()

        threading.Thread(target=listen, daemon=True).start()
        first = self.heard("")
        self.assertIn("millrace node", first)
        self.address = first.split()[-1]
        return process

    def heard(self, text, seconds=60):
        """Wait for the first line that contains the text."""
        deadline = time.monotonic() + seconds
        with self.notes:
            while not (found := [line for line in self.said if text in line]):
                self.assertLess(time.monotonic(), deadline, f"{text!r} in {self.said}")
                self.assertNotIn("", self.said)
                self.notes.wait(1)
            return found[0]

    def node(self, *words, **more):
        self.nodes.append(self.began(["node", self.address, "-q", "--threads", "1", *words], **more))
        return self.nodes[-1]

    def one_run(self, pipeline, source):
        """Return the output of one run."""
        output = self.folder / "whole.mkv"
        run("run", pipeline, source, "-o", output, "-q", "-y", "--threads", 1, "--structure", "sequential", "--codec", "ffv1")
        return frames_of(output)

    def done(self, process, seconds=120):
        process.wait(timeout=seconds)
        self.assertEqual(process.returncode, 0, self.said)
        for node in self.nodes:
            node.wait(timeout=120)

    def test_sections_make_what_one_run_makes_bit_by_bit(self):
        source, out, report = "test:96x64@60", self.folder / "out.mkv", self.folder / "report.json"
        pipeline = "blur | temporal_average(4) | unsharp(2, 1.5) | rotate(3)"
        wanted = self.one_run(pipeline, source)
        for count in (1, 2, 3):
            with self.subTest(sections=count):
                self.nodes = []
                head = self.head(pipeline, source, out, "-y", "--nodes", count, "--sections", count, "--json", report)
                for _ in range(count):
                    self.node()
                self.done(head)
                self.assertEqual([node.returncode for node in self.nodes], [0] * count)
                told = json.loads(report.read_text())
                self.assertEqual((told["frames"], told["replaced"], len(told["sections"])), (60, 0, count))
                self.assertEqual(len({node for section in told["sections"] for node in section["nodes"]}), count)
                self.assertEqual(frames_of(out), wanted)

    def test_times_sound_and_metadata_of_a_file_go_from_input_to_output(self):
        film, out = self.folder / "film.mp4", self.folder / "out.mkv"
        subprocess.run("ffmpeg -v error -nostdin -f lavfi -i testsrc2=s=64x48:r=25:d=1 -f lavfi -i sine=d=1 -vf "
                       "setpts=PTS+mod(N\\,3)*0.011/TB -fps_mode passthrough -c:v libx264 -preset ultrafast -c:a aac "
                       "-metadata title=Film".split() + [str(film)], check=True)
        head = self.head("blur | sobel_x", film, out, "--nodes", 2, "--sections", 2)
        self.node()
        self.node()
        self.done(head)
        self.assertEqual(frames_of(out), self.one_run("blur | sobel_x", film))
        probe = ["ffprobe", "-v", "error", "-show_entries", "stream=codec_type:format_tags=title", "-of", "csv"]
        told = [subprocess.run([*probe, path], check=True, capture_output=True).stdout
                for path in (out, self.folder / "whole.mkv")]
        self.assertEqual(told[0], told[1])
        self.assertIn(b"audio", told[0])

    def killed(self, rounds, frames, seed):
        """Kill nodes at random moments and replace them: no frame is lost or duplicated."""
        source, out = f"test:96x64@{frames}", self.folder / "out.mkv"
        chance = random.Random(seed)
        total = 0
        wanted = self.one_run(PIPELINE, source)
        number = 0
        while total < rounds:
            number += 1
            self.nodes = []
            report = self.folder / "report.json"
            head = self.head(PIPELINE, source, out, "-y", "--nodes", 3, "--sections", 3, "--json", report)
            for _ in range(4):
                self.node()
            self.heard("sections")
            kills = 0
            while head.poll() is None:
                time.sleep(chance.uniform(0.02, 0.4))
                if head.poll() is not None or kills == max(3, rounds // 10):
                    break
                victims = [node for node in self.nodes if node.poll() is None]
                victim = chance.choice(victims)
                victim.send_signal(signal.SIGKILL)
                kills += 1
                if head.poll() is None:
                    self.node()
            self.done(head)
            told = json.loads(report.read_text())
            total += told["replaced"]
            made = frames_of(out)
            self.assertEqual((len(made), len(wanted)), (frames, frames))
            other = [n for n in range(frames) if made[n] != wanted[n]]
            self.assertEqual(other[:5], [], f"{told['sections']}, {told['replaced']} replaced")
            self.assertLess(number, 10 + rounds, "nodes were killed that did nothing")
            for process in (head, *self.nodes):
                self.assertIsNotNone(process.poll())
        return total

    def test_of_nodes_that_are_killed_others_take_the_place_and_no_frame_is_lost_or_comes_twice(self):
        if SOAK:
            total = self.killed(SOAK, 3000, ARGUMENTS.seed)
            print(f"PASSED: {total} nodes killed in the middle of a section: all videos identical, no process left", flush=True)
        else:
            self.killed(2, 300 if SANITIZED else 2000, ARGUMENTS.seed)

    @unittest.skipIf(SANITIZED, "tests the same again, and waits")
    def test_a_node_that_hangs_is_lost_too(self):
        out, report = self.folder / "out.mkv", self.folder / "report.json"
        head = self.head("blur | sobel_x", "test:96x64@2000", out, "--nodes", 2, "--sections", 2, "--json", report)
        hung = [self.node(), self.node()][0]
        self.heard("sections")
        hung.send_signal(signal.SIGSTOP)
        self.node()
        self.nodes.remove(hung)
        try:
            self.done(head)
        finally:
            hung.send_signal(signal.SIGCONT)
        self.assertEqual(hung.wait(timeout=120), 1)
        told = json.loads(report.read_text())
        self.assertEqual((told["frames"], told["replaced"]), (2000, 1))
        self.assertEqual(len(frames_of(out)), 2000)

    def liar(self, sends):
        """A fast node that sends something other than frames."""
        version = run("--version").stdout.decode().split()[-1]
        host, port = self.address.rsplit(":", 1)
        head = socket.create_connection((host, int(port)), timeout=60)
        server = socket.create_server((host, 0))
        self.addCleanup(server.close)
        self.addCleanup(head.close)

        def say(**words):
            head.sendall(json.dumps(words).encode() + b"\n")

        def serve():
            try:
                while True:
                    with server.accept()[0] as guest:
                        guest.sendall(sends)
            except OSError:
                pass  # closed

        def listen():
            try:
                say(hello="millrace.cut", version=2, millrace=version, token=ENVIRONMENT["MILLRACE_TOKEN"], threads=1)
                for line in head.makefile("rb"):
                    message = json.loads(line)
                    if message["say"] == "measure":
                        say(say="measured", seconds=[1e-9] * len(message["sections"]))
                    if message["say"] == "section":
                        say(say="serving", port=server.getsockname()[1])
                        say(say="linked")
                        threading.Thread(target=serve, daemon=True).start()
            except OSError:
                pass  # rejected

        threading.Thread(target=listen, daemon=True).start()

    def test_a_node_whose_frames_cannot_be_used_is_replaced(self):
        source, out, report = "test:96x64@60", self.folder / "out.mkv", self.folder / "report.json"
        wanted = self.one_run("blur | sobel_x", source)
        for sends in (b"GET / HTTP/1.1\r\n\r\n", b"YUV4MPEG2 W8 H8 F25:1 C420jpeg\nFRAME\n" + bytes(96)):
            with self.subTest(sends[:20]):
                self.nodes = []
                head = self.head("blur | sobel_x", source, out, "-y", "--nodes", 2, "--sections", 2, "--json", report)
                self.liar(sends)
                self.node()
                self.heard("sections")
                self.heard("sends ")
                self.node()
                self.done(head)
                self.assertEqual(json.loads(report.read_text())["replaced"], 1)
                self.assertEqual(frames_of(out), wanted)

    def test_a_pipe_is_read_no_further_than_what_is_written_allows(self):
        head = self.head("blur | sobel_x", "-", "-", "--nodes", 2, "--sections", 2, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
        self.node()
        self.node()
        frame = b"FRAME\n" + bytes(64 * 48 * 3 // 2)
        sent = 0

        def send():
            nonlocal sent
            head.stdin.write(b"YUV4MPEG2 W64 H48 F25:1 Ip C420jpeg\n")
            for _ in range(2000):
                head.stdin.write(frame)
                sent += 1
            head.stdin.close()

        sender = threading.Thread(target=send)
        sender.start()
        self.heard("sections")
        before = -1
        while sent != before:  # until no more data moves
            before = sent
            time.sleep(0.5)
        # Frames in flight, in pipes and in queues.
        self.assertLess(sent, 800)
        read = head.stdout.read()
        sender.join()
        self.done(head)
        self.assertEqual(read.count(b"FRAME"), 2000)

    def test_where_nobody_comes_for_a_node_that_is_lost_the_output_holds_what_was_written(self):
        out = self.folder / "out.mkv"
        head = self.head("blur | sobel_x", "test:96x64@200000", out, "--nodes", 2, "--sections", 2, "--patience", "0.5")
        self.node()
        self.node()
        self.heard("sections")
        self.wait_for_frames(head, self.said)
        self.nodes[1].kill()
        self.assertEqual(head.wait(timeout=60), 1)
        self.heard("no node has come within 0.5 s")
        self.assertGreater(len(frames_of(out)), 0)
        self.assertEqual(self.nodes[0].wait(timeout=120), 0)

    def test_nodes_that_stay_are_there_for_the_next_head(self):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        node = self.began(["node", f"127.0.0.1:{port}", "--stay", "-q", "--threads", "1"], stderr=subprocess.PIPE)
        for frames, killed in ((20, False), (200000, True), (20, False)):
            head = self.head("blur", f"test:96x64@{frames}", "null", at=f"127.0.0.1:{port}")
            if killed:
                self.heard("section")
                head.kill()
                head.wait()
            else:
                self.done(head)
        node.terminate()
        self.assertEqual(node.wait(timeout=120), 143)

    def test_nodes_end_with_their_head(self):
        head = self.head("blur", "test:96x64@200000", "null", "--nodes", 1)
        self.node(stderr=subprocess.PIPE)
        self.heard("section")
        head.kill()
        self.assertEqual(self.nodes[0].wait(timeout=120), 1)
        self.assertIn(b"the head is lost", self.nodes[0].stderr.read())

    def test_an_interrupted_head_leaves_a_valid_output_and_ends_its_nodes(self):
        out = self.folder / "out.mkv"
        head = self.head("blur", "test:96x64@200000", out, "--nodes", 1)
        self.node()
        self.heard("section")
        self.wait_for_frames(head, self.said)
        head.send_signal(signal.SIGINT)
        self.assertEqual(head.wait(timeout=120), 130)
        self.assertGreater(len(frames_of(out)), 0)
        self.assertEqual(self.nodes[0].wait(timeout=120), 0)

    def test_who_has_not_the_token_or_another_version_is_refused_in_one_line(self):
        head = self.head("blur", "test:96x64@20", "null", "--nodes", 1)
        stranger = subprocess.run([MILLRACE, "node", self.address], env=ENVIRONMENT | {"MILLRACE_TOKEN": "guessed"},
                                  capture_output=True, text=True, timeout=60)
        self.assertEqual((stranger.returncode, stranger.stderr.count("\n")), (2, 1), stranger.stderr)
        self.assertIn("the token is another one", stranger.stderr)
        # All other connections are rejected.
        host, port = self.address.rsplit(":", 1)
        for words in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100 + b"\n", b'{"hello": 3}\n', b"[" * 100000 + b"\n"):
            with socket.create_connection((host, int(port)), timeout=30) as caller:
                try:
                    caller.sendall(words)
                    self.assertEqual(caller.recv(1000), b"")
                except ConnectionError:
                    pass  # rejected before everything was sent
        self.node()
        self.done(head)

    def test_a_token_that_is_made_up_is_printed(self):
        with_none = {name: value for name, value in ENVIRONMENT.items() if name != "MILLRACE_TOKEN"}
        head = self.head("blur", "test:96x64@20", "null", "-q", env=with_none)
        self.said[0].index("MILLRACE_TOKEN=")
        token = self.said[0].split("MILLRACE_TOKEN=")[1].split()[0]
        self.node(env=with_none | {"MILLRACE_TOKEN": token})
        self.done(head)

    def test_a_wait_for_what_is_read_from_a_pipe_ends_with_ctrl_c(self):
        pipe = str(self.folder / "pipe")
        os.mkfifo(pipe)
        for words in (["split", "blur", "test:32x32@3", "--token-file", pipe], ["node", "127.0.0.1:1", "--token-file", pipe],
                      ["plan", "--show", pipe], ["chunk", pipe, "0", "-o", self.folder], ["join", pipe, self.folder, "-o", "null"]):
            with self.subTest(words), subprocess.Popen([MILLRACE, *map(str, words)], env=ENVIRONMENT, text=True,
                                                       stderr=subprocess.PIPE) as process:
                writer = -1
                while writer < 0 and process.poll() is None:  # refused until it reads
                    try:
                        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                    except OSError:
                        time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(timeout=60)
                except subprocess.TimeoutExpired:
                    process.kill()
                self.assertIn("reading was stopped", process.stderr.read())
                self.assertEqual(process.returncode, 128 + signal.SIGINT)
                os.close(writer)

    def test_mistakes_are_said_in_one_line(self):
        open_file = self.folder / "open"
        open_file.write_text("word\n")
        open_file.chmod(0o644)
        for text, words in (("unknown filter", ["split", "blurr", "test:32x32@3"]),
                            ("HOST:PORT", ["split", "blur", "test:32x32@3", "--listen", "7272"]),
                            ("cannot be listened at", ["split", "blur", "test:32x32@3", "--listen", "192.0.2.1:7272"]),
                            ("no such file", ["split", "blur", "nowhere.mkv", "--listen", "127.0.0.1:0"]),
                            ("other users can read it", ["split", "blur", "test:32x32@3", "--token-file", open_file]),
                            ("HOST:PORT", ["node", "nowhere"]),
                            ("other users can read it", ["node", "127.0.0.1:1", "--token-file", open_file])):
            with self.subTest(words):
                done = subprocess.run([MILLRACE, *map(str, words), "-q"], env=ENVIRONMENT, capture_output=True, text=True,
                                      timeout=60)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn(text, done.stderr)


if __name__ == "__main__":
    alone = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "-"]
    if IN_NAMESPACE not in os.environ and shutil.which("ip") and \
            subprocess.run([*alone, "true"], capture_output=True).returncode == 0:
        os.environ[IN_NAMESPACE] = "1"
        os.execvp(alone[0], [*alone, sys.executable, *sys.argv])
    main("Cut.test_of_nodes_that_are_killed_others_take_the_place_and_no_frame_is_lost_or_comes_twice")
