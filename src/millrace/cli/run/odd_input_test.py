"""Inputs that change in mid-stream, or are of rare kinds. Changes are honoured on every frame, kept or reported, and
refusals state the true reason.

usage: odd_input_test.py MILLRACE
"""

import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()
INPUTS = tempfile.TemporaryDirectory()
ENVIRONMENT = os.environ | {"XDG_CACHE_HOME": CACHE.name}
FOLDER = pathlib.Path(INPUTS.name)


def millrace(*words, **options):
    return subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=120, env=ENVIRONMENT, **options)


def run(*words, **options):
    return millrace("run", *words, "--no-profile", **options)


def ffmpeg(*words):
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *" ".join(map(str, words)).split()], cwd=FOLDER,
                          capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return done.stdout


def probe(path, entries):
    return subprocess.run(["ffprobe", "-v", "error", "-show_entries", entries, "-of", "compact", str(path)], check=True,
                          capture_output=True).stdout.decode()


def frames_of(path):
    """RGB samples of each frame."""
    size = probe(path, "stream=width,height").strip().replace("|", "=").split("=")
    each = int(size[2]) * int(size[4]) * 3
    samples = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-fps_mode", "passthrough", "-f", "rawvideo",
                              "-pix_fmt", "rgb24", "-"], check=True, capture_output=True).stdout
    return [samples[at:at + each] for at in range(0, len(samples), each)]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def profile(colors):
    """A minimal ICC profile: a header without tags."""
    header = bytearray(128)
    header[8:12] = b"\4\x30\0\0"
    header[12:24] = b"mntr" + colors + b"XYZ "
    header[36:40] = b"acsp"
    body = bytes(header) + struct.pack(">I", 0)
    return struct.pack(">I", len(body)) + body[4:]


def with_profile(png, colors):
    bytes_ = png.read_bytes()
    body = b"a name\0\0" + zlib.compress(profile(colors))
    return bytes_[:33] + chunk(b"iCCP", body) + bytes_[33:]


class Odd(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def done(self, *words, **options):
        done = run(*words, "-y", **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode() + done.stderr.decode()

    def refused(self, code, words, *command, **options):
        done = run(*command, **options)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        for word in words:
            self.assertIn(word, text)


class Fields(Odd):
    """Each part has its own interlaced flags."""

    @classmethod
    def setUpClass(cls):
        source = "-f lavfi -i testsrc2=s=64x48:r=25:d=0.2 -c:v libx264 -preset ultrafast -pix_fmt yuv420p"
        cls.parts = {}
        for name, words in (("progressive", ""), ("top", "-vf setfield=tff -flags +ildct"),
                            ("bottom", "-vf setfield=bff -flags +ildct")):
            ffmpeg(source, words, f"{name}.264")
            cls.parts[name] = (FOLDER / f"{name}.264").read_bytes()
        ffmpeg("-i progressive.264 -c copy steady.mkv")

    def video(self, *parts):
        file = self.folder / "video.264"
        file.write_bytes(b"".join(self.parts[part] for part in parts))
        return file

    def test_a_pipeline_that_mixes_rows_ends_where_interlaced_frames_begin_whichever_they_are(self):
        chosen = random.Random(5)
        for pipeline in "rotate(6)", "blur", "resize(32, 24)":
            before = chosen.randint(1, 3)
            file = self.video(*["progressive"] * before, chosen.choice(("top", "bottom")), "progressive")
            self.refused(1, [f"frame {5 * before}:", "deinterlace", "--treat-as-progressive"], pipeline, file, "-o",
                         self.folder / "out.y4m", "-y", "-q")
            frames = (self.folder / "out.y4m").read_bytes().count(b"FRAME\n")
            self.assertEqual(frames, 5 * before)
            self.done(pipeline, file, "-o", "null", "--treat-as-progressive")
            self.done("deinterlace(first=top) | " + pipeline, file, "-o", "null")

    def test_interlaced_frames_of_a_second_video_end_it_too(self):
        self.refused(1, ["frame 5:", "deinterlace"], "[input, second] | blend(average) | blur",
                     self.video("progressive", "progressive"), self.video("progressive", "top"), "-o", "null", "-q")

    def test_a_pipeline_that_keeps_rows_names_the_change(self):
        text = self.done("threshold(0.5)", self.video("progressive", "top"), "-o", self.folder / "out.mkv")
        self.assertIn("interlaced flag from frame 5 on (top field first after progressive)", text)
        self.assertNotIn("interlaced flag", self.done("threshold(0.5)", self.video("top", "top"), "-o",
                                                      self.folder / "out.mkv"))

    def test_deinterlacing_by_the_order_that_the_first_frame_says_ends_where_it_changes(self):
        self.refused(1, ["frame 5:", "bottom field comes first", "first=bottom"], "deinterlace",
                     self.video("top", "bottom"), "-o", "null", "-q")
        self.done("deinterlace(first=top)", self.video("top", "bottom"), "-o", "null")
        self.done("deinterlace", self.video("progressive", "top"), "-o", "null")


class Kept(Odd):
    def test_alpha_beside_the_pictures_of_vp8_and_vp9_is_named_and_its_tag_goes(self):
        for codec in "libvpx", "libvpx-vp9":
            ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.2,format=yuva420p -c:v", codec,
                   "-deadline realtime -cpu-used 8 -auto-alt-ref 0 alpha.webm")
            self.assertIn("alpha_mode", probe(FOLDER / "alpha.webm", "stream_tags").lower())
            text = self.done("crop(1)", FOLDER / "alpha.webm", "-o", self.folder / "out.webm")
            self.assertRegex(text, "not kept there:.*alpha")
            self.assertNotIn("alpha_mode", probe(self.folder / "out.webm", "stream_tags").lower())

    def test_colour_profiles_go_from_picture_to_picture_or_are_named(self):
        ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.08,format=rgb24 plain%d.png")
        for n, colors in (1, b"RGB "), (2, b"RGB "):
            (FOLDER / f"icc{n}.png").write_bytes(with_profile(FOLDER / f"plain{n}.png", colors))
        source = FOLDER / "icc%d.png"
        for ending in "png", "jpg":
            text = self.done("crop(1)", source, "-o", self.folder / f"out%d.{ending}", *(
                ("--format", "rgb24") if ending == "png" else ()))
            self.assertNotIn("ICC", text)
            for n in 1, 2:
                self.assertIn("ICC profile", probe(self.folder / f"out{n}.{ending}", "frame_side_data=side_data_type"))
        for output, words in (("out%d.tif", ()), ("gray%d.png", ("--format", "gray")), ("out.mp4", ()), ("out.y4m", ()),
                              ("out.mkv", ())):
            self.assertIn("ICC profile", self.done("crop(1)", source, "-o", self.folder / output, *words))
        self.assertNotIn("ICC", probe(self.folder / "gray1.png", "frame_side_data=side_data_type"))

    def test_a_gray_picture_among_others_is_converted_as_asked(self):
        ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.2,format=rgb24 mixed%d.png")
        ffmpeg("-i mixed3.png -pix_fmt gray mixed_gray.png")
        shutil.copy(FOLDER / "mixed_gray.png", FOLDER / "mixed3.png")
        for words in (("--format", "yuv444p"), ("--format", "yuv444p16"), ("--format", "rgb24")):
            self.done("crop(1)", FOLDER / "mixed%d.png", "-o", self.folder / "out%d.png", *words)
            gray = subprocess.run(["ffmpeg", "-v", "error", "-i", str(FOLDER / "mixed_gray.png"), "-f", "rawvideo",
                                   "-pix_fmt", "gray", "-"], check=True, capture_output=True).stdout
            ours = frames_of(self.folder / "out3.png")[0]
            self.assertEqual(len(ours), 3 * len(gray))
            apart = max(abs(ours[3 * at + part] - value) for at, value in enumerate(gray) for part in range(3))
            self.assertLessEqual(apart, 2, words)
        self.refused(1, ["mixed3.png", "gray", "--format"], "crop(1)", FOLDER / "mixed%d.png", "-o", "null", "-q")


class Seeks(Odd):
    """FFmpeg has no index for raw streams."""

    def test_chunks_of_raw_streams_are_what_run_makes(self):
        for name, words in (("raw.mjpeg", "-c:v mjpeg -q:v 3 -f mjpeg"), ("raw.m4v", "-c:v mpeg4 -bf 2 -f m4v"),
                            ("raw.ivf", "-c:v libvpx -deadline realtime -cpu-used 8")):
            with self.subTest(name):
                ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=2", words, name)
                video = FOLDER / name
                self.done("crop(1)", video, "-o", self.folder / "whole.mkv", "--codec", "ffv1")
                plan, parts = self.folder / f"{name}.json", self.folder / f"{name}.parts"
                for command in (("plan", "crop(1)", video, "--chunk", "0.5s", "-o", plan, "--codec", "ffv1"),
                                ("chunk", plan, "2", "0", "3", "1", "-o", parts),
                                ("join", plan, parts, "-o", self.folder / "joined.mkv", "-y")):
                    done = millrace(*command)
                    self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(frames_of(self.folder / "joined.mkv"), frames_of(self.folder / "whole.mkv"))

    def test_a_part_that_begins_far_inside_is_what_a_whole_run_has_there(self):
        for name, words in ("far.mjpeg", "-c:v mjpeg -q:v 3 -f mjpeg"), ("far.m4v", "-c:v mpeg4 -f m4v"):
            ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=5", words, name)
            for file, words in ("whole.mkv", ()), ("part.mkv", ("--start", "3")):
                self.done("crop(1)", FOLDER / name, "-o", self.folder / file, "--codec", "ffv1", *words)
            self.assertEqual(frames_of(self.folder / "part.mkv"), frames_of(self.folder / "whole.mkv")[75:])


class Reasons(Odd):
    def test_what_cannot_be_decoded_without_being_damaged_is_told_so(self):
        ffmpeg("-f lavfi -i testsrc2=s=64x48:r=10:d=0.5 -c:v libwebp_anim an.webp")
        ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -c:v libx264 -encryption_scheme cenc-aes-ctr -encryption_key "
               "00112233445566778899aabbccddeeff -encryption_kid 00112233445566778899aabbccddee00 enc.mp4")
        decoders = subprocess.run(["ffmpeg", "-hide_banner", "-decoders"], capture_output=True, check=True, text=True).stdout
        for words in (), ("--on-damage", "skip"):
            if " webp_anim " in decoders:  # from FFmpeg 9 on
                self.done("crop(1)", FOLDER / "an.webp", "-o", self.folder / "an.y4m", *words)
                self.assertEqual((self.folder / "an.y4m").read_bytes().count(b"FRAME\n"), 5)
            else:
                self.refused(1, ["an.webp: is an animated WebP"], "crop(1)", FOLDER / "an.webp", "-o", "null", "-q", *words)
            self.refused(1, ["enc.mp4: its video is encrypted"], "crop(1)", FOLDER / "enc.mp4", "-o", "null", "-q", *words)

    def test_pipes_name_what_they_cannot_and_the_way_out(self):
        ffmpeg("-f lavfi -i nullsrc=s=320x240:r=25:d=2,geq=random(1)*255:128:128 -c:v libx264 -preset ultrafast late.mp4")
        with open(FOLDER / "late.mp4", "rb") as file:
            with subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) as pipe:
                self.refused(1, ["index is behind its frames", "faststart"], "crop(1)", "/dev/stdin", "-o", "null", "-q",
                             stdin=pipe.stdout)
        ffmpeg("-i late.mp4 -c copy -movflags +faststart early.mp4")
        ffmpeg("-i late.mp4 -c copy late.mkv")
        for name in "early.mp4", "late.mkv":
            done = run("crop(1)", "/dev/stdin", "-o", "null", "-q", input=(FOLDER / name).read_bytes())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.refused(1, ["standard input: is not y4m", "/dev/stdin"], "crop(1)", "-", "-o", "null", "-q",
                         input=(FOLDER / name).read_bytes())

    def test_a_stream_of_pictures_with_boundaries_ends_where_it_ends(self):
        ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=1 -f mpjpeg parts.mpjpeg")
        self.done("crop(1)", FOLDER / "parts.mpjpeg", "-o", self.folder / "out.y4m")
        self.assertEqual((self.folder / "out.y4m").read_bytes().count(b"FRAME\n"), 25)
        whole = (FOLDER / "parts.mpjpeg").read_bytes()
        (FOLDER / "cut.mpjpeg").write_bytes(whole[:len(whole) - 700])
        self.refused(1, ["cut.mpjpeg", "frame 24"], "crop(1)", FOLDER / "cut.mpjpeg", "-o", "null", "-q")

    def test_one_picture_goes_to_one_name(self):
        ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=0.12 three.mkv")
        one = self.folder / "one.png"
        self.done("crop(1)", FOLDER / "three.mkv", "-o", one, "--frames", "1")
        first = frames_of(one)
        self.assertEqual(len(first), 1)
        self.refused(2, ["one.png", "exists"], "crop(1)", FOLDER / "three.mkv", "-o", one, "--frames", "1", "-q")
        self.refused(1, ["is one picture", "one%04d.png"], "crop(1)", FOLDER / "three.mkv", "-o", one, "-y", "-q")
        self.done("blur", one, "-o", self.folder / "other.jpg")
        self.assertEqual(len(frames_of(self.folder / "other.jpg")), 1)
        self.refused(2, ["'-' for y4m"], "crop(1)", FOLDER / "three.mkv", "-o", "/dev/stdout", "-q")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
