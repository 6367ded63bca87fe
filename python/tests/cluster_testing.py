"""Shared code of the tests of jobs over nodes."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

INPUTS = tempfile.TemporaryDirectory()
CACHE = tempfile.TemporaryDirectory()
PROGRAM = os.path.abspath(shutil.which(os.environ.get("MILLRACE_PROGRAM", "millrace")) or "millrace")
ROUNDS = int(os.environ.get("MILLRACE_SOAK_ROUNDS", "0"))
SECONDS = 8 if ROUNDS else 3
LOSSLESS = ["--codec", "ffv1"]  # for outputs that are compared frame by frame


def make_inputs():
    """Make the inputs once for all test modules of a process."""
    os.environ["XDG_CACHE_HOME"] = CACHE.name
    folder = pathlib.Path(INPUTS.name)
    if (folder / "many").exists():
        return
    subprocess.run(f"ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=96x64:r=25:d={SECONDS} -f lavfi -i sine=d={SECONDS} "
                   "-c:v libx264 -preset ultrafast -g 12 -bf 2 -c:a aac film.mp4".split(), check=True, cwd=folder)
    many = folder / "many"
    (many / "sub").mkdir(parents=True)
    for number in range(5):
        subprocess.run(f"ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=s=64x48:r=25:d=0.{number + 2} -c:v libx264 "
                       f"-preset ultrafast small{number}.mp4".split(), check=True, cwd=many)
    shutil.copy(folder / "film.mp4", many / "sub" / "film.mp4")
    (many / "broken.mp4").write_bytes(b"this is no video")
    (many / "notes.txt").write_text("nor is this")


def frames_of(path):
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v", "-copyts", "-fps_mode",
                           "passthrough", "-f", "framemd5", "-"], check=True, capture_output=True, text=True)
    return [line.split(",")[2:] for line in done.stdout.splitlines() if not line.startswith("#")]


def children(pid):
    """All descendants of a process, with their command lines."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(words[1]) == pid:
            child = int(entry.parent.name)
            found += [child, *children(child)]
    return found


def called(pid):
    """The command line of a process."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")[:-1]
    except OSError:
        return []


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


class Case(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.film = os.path.join(INPUTS.name, "film.mp4")

    def whole(self, name=None):
        """The output of a single run."""
        out = self.folder / "whole.mkv"
        subprocess.run([os.environ.get("MILLRACE_PROGRAM", "millrace"), "run", "blur", name or self.film, "-o", str(out), *LOSSLESS,
                        "-q", "-y"], check=True)
        return frames_of(out)

    def out(self):
        return str(self.folder / "out.mkv")
