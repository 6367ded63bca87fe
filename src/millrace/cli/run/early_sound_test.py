"""millrace run on files whose sound comes long before the first picture: little memory, and all of the sound.

usage: early_sound_test.py MILLRACE
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()
SANITIZED = "MILLRACE_SANITIZED" in os.environ
SECONDS = 24  # 147 MB of sound
MOST_MORE = 48 << 20  # bytes of memory that sound may take


def ffmpeg(*words):
    return subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *map(str, words)], check=True, capture_output=True).stdout


def run(*words, **more):
    """Errors, exit code and peak memory."""
    process = subprocess.Popen([MILLRACE, "run", *map(str, words), "-y", "-q", "--no-profile"], stderr=subprocess.PIPE,
                               env=os.environ | {"XDG_CACHE_HOME": CACHE.name}, **more)
    errors = process.stderr.read().decode()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return errors, process.returncode, usage.ru_maxrss << 10


def sound_of(path):
    return ffmpeg("-i", path, "-map", "0:a", "-f", "md5", "-").decode()


@unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg program")
class EarlySound(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.inputs = pathlib.Path(folder.name)
        sound = ("-f", "lavfi", "-i", f"anoisesrc=r=192000:d={SECONDS},aformat=channel_layouts=7.1")
        picture = ("-itsoffset", SECONDS - 1, "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1")
        for name in "late.mkv", "late.mov":
            ffmpeg(*picture, *sound, "-map", 0, "-map", 1, "-c:v", "libx264", "-preset", "ultrafast", "-c:a", "pcm_s32le",
                   cls.inputs / name)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_it_takes_little_memory_and_all_of_it_arrives(self):
        for name in "late.mkv", "late.mov":
            for words in (), ("--loop", 2), ("--start", 0.4):
                with self.subTest(f"{name} {words}"):
                    target = self.folder / name
                    errors, code, least = run("crop(1)", self.inputs / name, "-o", target, "--no-audio", *words)
                    self.assertEqual((errors, code), ("", 0))
                    errors, code, most = run("crop(1)", self.inputs / name, "-o", target, *words)
                    self.assertEqual((errors, code), ("", 0))
                    if not SANITIZED:
                        self.assertLess(most - least, MOST_MORE)
                    if not words:
                        self.assertEqual(sound_of(target), sound_of(self.inputs / name))
                    self.assertEqual([each for each in os.listdir(self.folder) if not each.startswith("late.")], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
