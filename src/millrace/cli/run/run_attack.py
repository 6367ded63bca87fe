#!/usr/bin/env python3
"""Attacks `millrace run`, and programs on the library if given. If a resource is missing, they must end soon, with
their own exit code and a line that says why, and leave nothing unfinished.

    run_attack.py MILLRACE [PROGRAM ...] [--rounds N] [--only WORD]

PROGRAM: millrace-dedup, millrace-skipline.

--rounds: repetitions of attacks that depend on timing (100; the short form in the tests: 1). The exit code is 1 if an
attack succeeded.
"""

import argparse
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "base"))
from attack import Held, check, limit_addresses, run_attacks, too_few_addresses  # noqa: E402

PATIENCE = 60  # after so many seconds something hangs
CODES = (0, 1, 2)


class Place:
    """A folder with inputs, and the commands to run in it."""

    def __init__(self, programs, rounds):
        self.programs = programs
        self.rounds = rounds
        self.random = random.Random(1)
        self.folder = tempfile.mkdtemp(prefix="millrace-attack-")
        self.out = os.path.join(self.folder, "out")
        self.environment = os.environ | {"XDG_CACHE_HOME": os.path.join(self.folder, "cache"), "TMPDIR": self.folder}
        self.video = os.path.join(self.folder, "in.y4m")
        subprocess.run([programs["millrace"], "run", "crop(1)", "test:96x64@40", "-o", self.video, "-q"], check=True,
                       env=self.environment)
        self.bitmap = os.path.join(self.folder, "in.pbm")
        with open(self.bitmap, "wb") as file:
            file.write(b"P4\n640 400\n" + self.random.randbytes(80 * 400))

    def close(self):
        shutil.rmtree(self.folder)

    def commands(self, frames=40):
        """By name: the arguments, without the output file, and the extension of that file."""
        run = [self.programs["millrace"], "run", "@A", "-q"]
        yield "run", [*run, f"test:96x64@{frames}", "-o"], ".y4m"
        yield "run from a file", [*run, self.video, "--codec", "ffv1", "-o"], ".mkv"
        yield "run into an index", [*run, self.video, "-o"], ".mp4"
        if "millrace-dedup" in self.programs:
            yield "pack", [self.programs["millrace-dedup"], "pack", "-q", self.video], ".mrd"
        if "millrace-skipline" in self.programs:
            yield "encode", [self.programs["millrace-skipline"], "encode", "-q", self.bitmap], ".skl"

    def start(self, words, target, before=None, **streams):
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)
        if target == "-":  # y4m, which has no codec
            words = [word for word in words if word not in ("--codec", "ffv1")]
        return subprocess.Popen([*words, target], env=self.environment, preexec_fn=before,
                                **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE,
                                   **streams})

    def ends(self, process, what, codes=CODES, one_line=True):
        try:
            text = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise Held(f"{what}: hangs") from None
        check(process.returncode in codes, f"{what}: exit code {process.returncode}: {text}")
        if one_line and text is not None and process.returncode > 0:
            check(text.count(b"\n") == 1, f"{what}: not one line: {text}")
        return process.returncode

    def expect_no_rest(self, what, file):
        names = os.listdir(self.out)
        check(set(names) <= {os.path.basename(file)}, f"{what}: leaves {names}")


def each(place, before, what, codes=CODES):
    for name, words, ending in place.commands():
        file = os.path.join(place.out, "out" + ending)
        label = f"{name}, {what}"
        place.ends(place.start(words, file, before), label, codes)
        place.expect_no_rest(label, file)


def few_descriptors(place):
    loader = 127  # cannot open a library
    for most in (3, 4, 5, 6, 8, 12, 20):
        each(place, lambda most=most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)), f"{most} descriptors",
             (*CODES, loader))


def small_files(place):
    for most in (0, 1, 4096):
        each(place, lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)), f"files of {most} bytes")


def little_memory(place):
    """If memory runs out, the rest of the output is readable."""
    for name, words, ending in place.commands():
        if not name.startswith("run"):
            continue
        file = os.path.join(place.out, "out" + ending)

        def works(most, words=words, file=file, name=name):
            what = f"{name}, {most >> 10} KiB of addresses"
            # libx264 prints its own message if it has no memory.
            code = place.ends(place.start(words, file, limit_addresses(most)), what, one_line=False)
            place.expect_no_rest(what, file)
            if os.path.exists(file):
                read = subprocess.run([place.programs["millrace"], "run", "crop(1)", file, "-o", "null", "-q"], check=False,
                                      env=place.environment, capture_output=True, timeout=PATIENCE)
                check(read.returncode == 0, f"{what}: leaves what cannot be read: {read.stderr}")
            return code == 0

        for most in too_few_addresses(works, 20 + place.rounds):
            works(most)


def closed_streams(place):
    for streams in ((0,), (1,), (2,), (0, 1), (0, 1, 2)):
        each(place, lambda streams=streams: [os.close(stream) for stream in streams], f"closed {streams}")


def full_devices(place):
    for name, words, _ in place.commands():
        for target in "/dev/full", "/dev/stdout", "-":
            with open("/dev/full", "wb") as full:
                code = place.ends(place.start(words, target, stdout=full), f"{name} to full {target}")
                check(code != 0, f"{name} to full {target}: success")


def readers_that_leave(place):
    for name, words, _ in place.commands():
        process = place.start(words, "-", stdout=subprocess.PIPE)
        process.stdout.close()
        process.stdout = None
        check(place.ends(process, f"{name} without a reader") == 1, f"{name} without a reader: success")


def signals_at_any_moment(place):
    """Before the signal handlers are installed, signals kill the process."""
    for _ in range(place.rounds):
        for name, words, ending in place.commands(frames=2000):
            number = place.random.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            file = os.path.join(place.out, "out" + ending)
            process = place.start(words, file)
            time.sleep(place.random.random() ** 2)
            if place.random.random() < 0.3:
                process.send_signal(signal.SIGTSTP)
                process.send_signal(signal.SIGCONT)
            process.send_signal(number)
            what = f"{name}, signal {number}"
            place.ends(process, what, (0, 128 + number, -number))
            place.expect_no_rest(what, file)


def files_that_name_others(place):
    """No connection is made, no other file is read, and signals end every wait."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        here = f"127.0.0.1:{server.getsockname()[1]}"
        for _ in range(4 + place.rounds):
            url = place.random.choice((f"http://{here}/a.ts", f"tcp://{here}", f"crypto+http://{here}/a.ts",
                                       f"cache:http://{here}/a.ts", "/etc/passwd", "../../../../etc/passwd", "/dev/zero",
                                       "pipe:0", "file:/proc/self/environ", f"rtsp://{here}/a", f"unix:{place.out}/s"))
            media = f"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n{url}\n#EXT-X-ENDLIST\n"
            text = place.random.choice((
                media, media.replace("#EXTINF", f'#EXT-X-KEY:METHOD=AES-128,URI="{url}"\n#EXTINF'),
                media.replace("#EXTINF", f'#EXT-X-MAP:URI="{url}"\n#EXTINF'),
                f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n{url}\n", f"ffconcat version 1.0\nfile {url}\n",
                '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
                'mediaPresentationDuration="PT2S"><Period><AdaptationSet mimeType="video/mp4"><Representation id="1">'
                f"<BaseURL>{url}</BaseURL></Representation></AdaptationSet></Period></MPD>",
                f"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {here.split(':')[1]} RTP/AVP 96\n"
                "a=rtpmap:96 H264/90000\n"))
            file = os.path.join(place.folder, "evil" + place.random.choice((".mp4", ".mkv", ".m3u8", ".sdp", ".png")))
            with open(file, "w", encoding="ascii") as evil:
                evil.write(text)
            program = place.programs["millrace"]
            for words in ([program, "run", "crop(1)", file, "-q", "-o"],
                          [program, "run", "[input, second] | blend(average)", place.video, file, "-q", "-o"],
                          [program, "plan", "crop(1)", file, "--chunk", "1s", "-q", "-o"]):
                what = f"{words[1]} of a file that names {url}"
                target = os.path.join(place.out, "out.json" if words[1] == "plan" else "out.y4m")
                code = place.ends(place.start(words, target), what)
                check(code != 0, f"{what}: success")
                try:
                    server.accept()
                    raise Held(f"{what}: the network was opened")
                except BlockingIOError:
                    pass
            os.remove(file)


ATTACKS = (few_descriptors, small_files, little_memory, closed_streams, full_devices, readers_that_leave, signals_at_any_moment,
           files_that_name_others)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    programs = {os.path.basename(path): os.path.abspath(path) for path in options.programs}
    return run_attacks(ATTACKS, options.only, lambda: Place(programs, options.rounds))


if __name__ == "__main__":
    sys.exit(main())
