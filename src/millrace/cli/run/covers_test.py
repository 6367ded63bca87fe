"""millrace run on songs with a cover: a video of one frame that lasts as long as the song, with the song's packets.

usage: covers_test.py MILLRACE
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()
SECONDS = 3
# The encoder of each kind of song, and what holds the cover.
SONGS = {
    "song.mp3": ("libmp3lame", "cover.jpg"),
    "song.m4a": ("aac", "cover.jpg"),
    "lossless.m4a": ("alac", "cover.png"),
    "song.flac": ("flac", "cover.png"),
    "flac.mkv": ("flac", "cover.png"),
    "opus.mkv": ("libopus", "cover.jpg"),
}


def tool(*words):
    done = subprocess.run([*map(str, words)], capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssertionError(f"{words}: {done.stderr.decode()}")
    return done.stdout


def ffmpeg(*words):
    return tool("ffmpeg", "-v", "error", "-nostdin", "-y", *words)


def probe(path, *more):
    return json.loads(tool("ffprobe", "-v", "error", "-show_streams", "-show_format", *more, "-of", "json", path))


def of_kind(account, kind):
    return [each for each in account["streams"] if each["codec_type"] == kind]


def packets_of_sound(path):
    """Digest and time of each packet."""
    told = probe(path, "-select_streams", "a", "-show_packets", "-show_data_hash", "md5")
    return [(each["data_hash"], float(each["pts_time"])) for each in told["packets"]]


def is_cover(stream):
    return stream["disposition"]["attached_pic"] == 1


@unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg program")
class Covers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.inputs = pathlib.Path(folder.name)
        to = lambda name: cls.inputs / name
        ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48", "-frames:v", 1, "-pix_fmt", "rgb24", to("cover.png"))
        ffmpeg("-i", to("cover.png"), "-pix_fmt", "yuvj420p", to("cover.jpg"))
        sound = ("-f", "lavfi", "-i", f"sine=r=48000:d={SECONDS}")
        for name, (codec, cover) in SONGS.items():
            if name.endswith(".mkv"):
                kind = "image/" + ("png" if cover.endswith(".png") else "jpeg")
                ffmpeg(*sound, "-c:a", codec, "-attach", to(cover), "-metadata:s:1", f"mimetype={kind}", to(name))
            else:
                ffmpeg(*sound, "-i", to(cover), "-map", 0, "-map", 1, "-c:a", codec, "-c:v", "copy", "-disposition:v",
                       "attached_pic", to(name))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def through(self, source, output):
        """Output, and what could not be kept."""
        report = self.folder / "report.json"
        path = self.folder / output
        done = subprocess.run([MILLRACE, "run", "crop(1)", str(source), "-o", str(path), "--json", str(report), "-y", "-q",
                               "--no-profile"], capture_output=True, timeout=120, env=os.environ | {"XDG_CACHE_HOME": CACHE.name})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return path, json.loads(report.read_text())["not_kept"]

    def test_a_song_becomes_a_video_of_one_frame_that_lasts_as_long(self):
        for name in SONGS:
            for output in "out.mp4", "out.mkv":
                with self.subTest(f"{name} to {output}"):
                    self.assertEqual([is_cover(each) for each in of_kind(probe(self.inputs / name), "video")], [True])
                    target, not_kept = self.through(self.inputs / name, output)
                    self.assertEqual(not_kept, [])
                    account = probe(target, "-show_frames")
                    self.assertEqual([is_cover(each) for each in of_kind(account, "video")], [False])
                    self.assertEqual(len([each for each in account["frames"] if each["media_type"] == "video"]), 1)
                    self.assertAlmostEqual(float(account["format"]["duration"]), SECONDS, delta=0.06)
                    if output == "out.mp4":
                        self.assertAlmostEqual(float(of_kind(account, "video")[0]["duration"]), SECONDS, delta=0.06)

                    wanted, found = packets_of_sound(self.inputs / name), packets_of_sound(target)
                    # Matroska has no time before 0, and so no packet that is only for the start of a decoder, unless FFmpeg knows
                    # the delay of the codec: of Opus always, of AAC from FFmpeg 8 on.
                    heard = [each for each in wanted if output == "out.mp4" or len(found) == len(wanted) or each[1] >= 0]
                    self.assertEqual([each[0] for each in found], [each[0] for each in heard])
                    for a, b in zip(found, heard):
                        self.assertAlmostEqual(a[1] - found[0][1], b[1] - heard[0][1], delta=0.0011)

    def test_a_film_keeps_its_cover_beside_its_sound(self):
        for container in ".mp4", ".mkv":
            source = self.folder / ("film" + container)
            cover = ("-attach", self.inputs / "cover.png", "-metadata:s:2", "mimetype=image/png") if container == ".mkv" else (
                "-i", self.inputs / "cover.png", "-map", 0, "-map", 1, "-map", 2, "-c:v:1", "copy", "-disposition:v:1",
                "attached_pic")
            ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=1", "-f", "lavfi", "-i", "sine=r=48000:d=1", *cover, "-c:v:0",
                   "libx264", "-preset", "ultrafast", "-c:a", "aac", source)
            for output in "out.mp4", "out.mkv":
                with self.subTest(f"{container} to {output}"):
                    target, not_kept = self.through(source, output)
                    self.assertEqual(not_kept, [])
                    account = probe(target)
                    self.assertEqual([is_cover(each) for each in of_kind(account, "video")], [False, True])
                    self.assertEqual(len(of_kind(account, "audio")), 1)
                    self.assertEqual(*[ffmpeg("-i", each, "-map", "0:v:1", "-f", "md5", "-") for each in (source, target)])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
