"""Shared code of the tests of chunks and of live splits."""

import argparse
import json
import os
import pathlib
import stat
import subprocess
import tempfile
import time
import unittest

PARSER = argparse.ArgumentParser()
PARSER.add_argument("millrace")
PARSER.add_argument("--soak", type=int, default=0, help="kill so many workers or nodes, of longer videos, and do nothing else")
PARSER.add_argument("--seed", type=int, default=7, help="of who is killed, and when")
PARSER.add_argument("--all", action="store_true", help="every kind of video in every container through every preset into every "
                    "output, and nothing else: minutes")
ARGUMENTS, REST = PARSER.parse_known_args()
MILLRACE = os.path.abspath(ARGUMENTS.millrace)
SOAK = ARGUMENTS.soak
SANITIZED = "MILLRACE_SANITIZED" in os.environ
CACHE = tempfile.TemporaryDirectory()
INPUTS = tempfile.TemporaryDirectory()
ENVIRONMENT = os.environ | {"XDG_CACHE_HOME": CACHE.name, "MILLRACE_TOKEN": "known-to-all"}

SECONDS = 12 if SOAK else 2
FRAMES = 25 * SECONDS
# Every kind of video that chunks must handle: arguments of ffmpeg's encoder, and the resulting keyframes.
KINDS = {
    "closed": "-c:v libx264 -preset ultrafast -g 12 -bf 2 -flags +cgop -x264-params scenecut=0:open-gop=0",
    "open": "-c:v libx264 -preset veryfast -g 12 -bf 3 -x264-params open-gop=1:scenecut=0",
    "refresh": "-c:v libx264 -preset veryfast -g 12 -bf 0 -x264-params intra-refresh=1:scenecut=0",
    "refresh_pyramid": "-s 64x48 -c:v libx264 -g 30 -bf 3 -x264-params intra-refresh=1:b-pyramid=normal:scenecut=0",
    "one_key": "-c:v libx264 -preset ultrafast -g 9999 -bf 2 -x264-params scenecut=0:keyint=infinite",
    "open_h265": "-c:v libx265 -preset ultrafast -x265-params log-level=none:keyint=12:min-keyint=12:open-gop=1",
    "mpeg2": "-c:v mpeg2video -g 12 -bf 2",
    "uneven": "-vf setpts='PTS+mod(N\\,3)*0.011/TB' -fps_mode passthrough -c:v libx264 -preset ultrafast -g 12 -bf 2",
}
CONTAINERS = ("mp4", "mkv", "ts")


def run(*words, check=True, environment=ENVIRONMENT, **more):
    done = subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=300, env=environment, **more)
    if check and done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}: {done.stderr.decode()}")
    return done


def without_loss(words):
    """Make the output lossless, for comparison, unless the test names a codec."""
    return words if "--codec" in words else (*words, "--codec", "ffv1")


def make_inputs(kinds=KINDS):
    """Make one Matroska file of each kind in INPUTS, and a few special ones."""
    folder = pathlib.Path(INPUTS.name)
    source = f"-f lavfi -i testsrc2=s=96x64:r=25:d={SECONDS} -f lavfi -i sine=r=44100:d={SECONDS}"
    words = []
    for name in kinds:
        words += f"-map 0:v -map 1:a {KINDS[name]} -pix_fmt yuv420p -c:a aac -metadata title={name} {name}.mkv".split()
    words += "-map 0:v -c:v libx264 -preset ultrafast -frames:v 1 one.mkv".split()
    words += "-map 0:v -c:v libx264 -preset ultrafast -g 12 -bf 2 bare.h264".split()
    words += "-map 0:v -c:v libx264 -preset ultrafast -g 12 -bf 2 untold.avi".split()
    words += "-map 0:v -pix_fmt yuv420p plain.y4m".split()
    words += "-map 0:v -vf setfield=tff -c:v libx264 -preset ultrafast -g 12 -bf 2 -flags +ildct+ilme interlaced.mkv".split()
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *source.split(), *words], check=True, cwd=folder,
                   capture_output=True)


def rewrap(names):
    """Copy the streams into the other containers."""
    for name in names:
        for container in CONTAINERS[::2]:
            subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", f"{name}.mkv", "-map", "0", "-c", "copy",
                            f"{name}.{container}"], check=True, cwd=INPUTS.name, capture_output=True)


def frames_of(path):
    """Timestamp and pixel digest of each frame, decoded by FFmpeg."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v", "-fps_mode",
                           "passthrough", "-copyts", "-f", "framemd5", "-"], check=True, capture_output=True, text=True)
    base = [line.split()[2] for line in done.stdout.splitlines() if line.startswith("#tb")][0].split("/")
    lines = [line.split(",") for line in done.stdout.splitlines() if not line.startswith("#")]
    return [(round(int(line[2]) * int(base[0]) / int(base[1]), 4), line[-1].strip()) for line in lines]


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.plan = self.folder / "plan.json"
        self.parts = self.folder / "parts"
        self.inputs = pathlib.Path(INPUTS.name)

    def make_plan(self, pipeline, name, *words):
        source = name if name.startswith("test:") else self.inputs / name
        run("plan", pipeline, source, "-o", self.plan, "-y", "-q", *without_loss(words))
        return json.loads(self.plan.read_text())

    def began(self, words, **more):
        """Start a process that ends with the test."""
        process = subprocess.Popen([MILLRACE, *map(str, words)], env=more.pop("env", ENVIRONMENT), **more)

        def end():
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe:
                    pipe.close()

        self.addCleanup(end)
        return process

    def wait_for_frames(self, writer, said=()):
        """Wait until the file that a process writes has some frames. The file has no name before it is complete."""
        def written():
            folder = f"/proc/{writer.pid}/fd"
            for descriptor in os.listdir(folder) if writer.poll() is None else ():
                try:
                    told = os.stat(f"{folder}/{descriptor}")
                    if stat.S_ISREG(told.st_mode) and os.readlink(f"{folder}/{descriptor}").startswith(str(self.folder)):
                        yield told.st_size
                except OSError:
                    continue  # closed in the meantime

        deadline = time.monotonic() + 60
        while not any(size > 100_000 for size in written()):
            self.assertLess(time.monotonic(), deadline, f"nothing is written: {said}")
            time.sleep(0.02)

    def do_all(self, plan, *words):
        """Process the last chunk first, because chunks must be independent."""
        run("chunk", self.plan, *reversed(range(len(plan["chunks"]))), "-o", self.parts, "-q", "--threads", 1, *words)


def main(soak, every=""):
    """soak: the test that kills the requested number of processes; every: the test of all combinations."""
    chosen = soak if SOAK else every if ARGUMENTS.all else ""
    unittest.main(argv=["test", *([chosen] if chosen else []), *REST])
