"""Metadata and side streams are copied: ffprobe's output for input and output differs only as expected.

usage: travel_test.py MILLRACE
"""

import fractions
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()
INPUTS = tempfile.TemporaryDirectory()

SUBTITLES = "1\n00:00:00,100 --> 00:00:00,300\nfirst\n\n2\n00:00:00,400 --> 00:00:00,500\nsecond\n"
CHAPTERS = (";FFMETADATA1\ntitle=A film\nartist=Somebody\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=240\n"
            "title=One\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=240\nEND=600\ntitle=Two\n")
HDR = ("master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)L(10000000,50):max-cll=1000,400:"
       "log-level=none")
BT2020 = "-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc -color_range tv"


# From FFmpeg 6 on, setpts forgets how long frames last. Then .mp4 would leave out the last one.
LASTING = "-fps_mode passthrough -bsf:v setts=pts=PTS:dts=DTS:duration=0.04/TB"
# Every third frame on time, the others late by 11 and 22 ms. Needs a fine time base, because setpts rounds.
UNEVEN = rf"settb=1/90000,setpts=PTS+mod(N\,3)*0.011/TB -enc_time_base 1/90000 {LASTING}"


def run(*words):
    environment = os.environ | {"XDG_CACHE_HOME": CACHE.name}
    return subprocess.run([MILLRACE, "run", *words], capture_output=True, timeout=120, env=environment)


def ffmpeg(words, folder):
    """Make many files in one process. Each line holds the arguments of one output."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *" ".join(words).split()], cwd=folder,
                          capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


def with_matrix(source, target, matrix):
    """Copy an .mp4 or .mov, and set the display matrix of its first stream."""
    data = bytearray(source.read_bytes())
    place = data.index(b"tkhd") + 44
    data[place:place + 36] = struct.pack(">9i", *matrix)
    target.write_bytes(data)


def turn(source, target, degrees):
    """Copy an .mp4 or .mov, to be shown turned anticlockwise. FFmpeg 5 and 7 have no option for that in common."""
    cos, sin = {90: (0, 1), 180: (-1, 0), 270: (0, -1)}[degrees]
    one = 1 << 16
    with_matrix(source, target, (cos * one, -sin * one, 0, sin * one, cos * one, 0, 0, 0, 1 << 30))


def make_inputs(folder):
    (folder / "s.srt").write_text(SUBTITLES)
    (folder / "c.txt").write_text(CHAPTERS)
    (folder / "font.ttf").write_bytes(bytes(range(256)) * 4)
    source = ["-f lavfi -i testsrc2=s=64x48:r=25:d=0.6", "-f lavfi -i sine=r=44100:d=0.6", "-i s.srt", "-i c.txt"]
    chapters = "-map_metadata 3 -map_chapters 3"
    x264 = "-c:v libx264 -preset ultrafast -bf 2"
    ffmpeg([*source,
            # a film: two audio tracks, subtitles, chapters, an attachment, forced and default flags, anamorphic
            f"-map 0:v -map 1:a -map 1:a -map 2:s {chapters} {x264} -pix_fmt yuv420p -aspect 16:9 -c:a:0 aac",
            "-c:a:1 libopus -c:s copy -metadata:s:v title=Picture -metadata:s:a:0 language=deu",
            "-metadata:s:a:1 language=eng -metadata:s:s language=fra -disposition:a:1 0 -disposition:s forced",
            "-attach font.ttf -metadata:s:4 mimetype=font/ttf -color_range tv -colorspace bt709",
            "-color_primaries bt709 -color_trc bt709 -chroma_sample_location left film.mkv",
            # a phone: variable frame times; rotated below
            f"-map 0:v -map 1:a -map 2:s {chapters} -vf {UNEVEN}",
            f"{x264} -pix_fmt yuv420p -c:a aac -c:s mov_text -metadata:s:a language=ita plain.mp4",
            # a recording: interlaced, late start
            "-map 0:v -map 1:a -vf setfield=tff -flags +ildct+ilme -c:v mpeg2video -c:a mp2 -muxdelay 0.5",
            "-metadata:s:a language=spa recording.ts",
            # from an editor
            "-map 0:v -map 1:a -c:v prores_ks -pix_fmt yuv422p10le -c:a pcm_s16le -timecode 01:00:00:00 editor.mov",
            # a master
            f"-map 0:v -map 1:a -c:v libx265 -preset ultrafast -pix_fmt yuv420p10le {BT2020}",
            f"-x265-params {HDR} -c:a flac master.mkv",
            "-map 0:v -map 1:a -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -c:a libopus web.webm",
            "-map 0:v -map 1:a -c:v mpeg4 -c:a libmp3lame old.avi",
            "-map 0:v -c:v ffv1 -pix_fmt yuv444p12le lossless.mkv",
            ], folder)
    for degrees in (90, 180, 270):
        turn(folder / "plain.mp4", folder / f"phone{degrees}.mp4", degrees)


def probe(path, *more):
    done = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-show_format", "-show_chapters", *more, "-of",
                           "json", str(path)], check=True, capture_output=True)
    return json.loads(done.stdout)


def packets(path):
    """Bytes and timestamps of the packets of each stream, by stream index."""
    result = {}
    for packet in probe(path, "-show_packets", "-show_data_hash", "md5")["packets"]:
        result.setdefault(packet["stream_index"], []).append(
            (packet["data_hash"], float(packet.get("pts_time", "nan"))))
    return result


def with_track_elsewhere(movie, track, name):
    """A .mov file of which that track's content is said to be in the file of that name."""
    alias = (bytes(4) + bytes(10) + b"\3" + b"volume".ljust(27, b"\0") + bytes(12) + bytes([len(name)]) +
             name.ljust(63, b"\0") + bytes(16) + struct.pack(">hh", 1, 1) + bytes(16) +
             struct.pack(">hh", 2, len(name)) + name + bytes(len(name) % 2) + struct.pack(">hh", -1, 0))
    tracks = -1

    def rebuilt(boxes):
        nonlocal tracks
        result = b""
        while boxes:
            size, kind = struct.unpack(">I4s", boxes[:8])
            content, boxes = boxes[8:size], boxes[size:]
            tracks += kind == b"trak"
            if kind in (b"moov", b"trak", b"mdia", b"minf", b"dinf"):
                content = rebuilt(content)
            elif kind == b"dref" and tracks == track:
                content = struct.pack(">III4s", 0, 1, len(alias) + 8, b"alis") + alias
            result += struct.pack(">I4s", len(content) + 8, kind) + content
        return result

    return rebuilt(movie)


def of_kind(account, *kinds):
    return [stream for stream in account["streams"] if stream["codec_type"] in kinds]


def said(stream, *keys):
    """Values of a stream according to ffprobe. Missing values are None."""
    return {key: stream.get(key) for key in keys}


SAMPLES = ("width", "height", "pix_fmt", "sample_aspect_ratio", "color_range", "color_space", "color_transfer",
           "color_primaries", "chroma_location", "field_order")
SIDE = ("codec_name", "codec_type", "sample_rate", "channels", "channel_layout", "disposition")


def side_data(stream, *types):
    """Side data in a fixed order, with fractions converted."""
    found = [each for each in stream.get("side_data_list", []) if each["side_data_type"] in types]
    for each in found:
        for key, value in each.items():
            if isinstance(value, str) and "/" in value:
                each[key] = fractions.Fraction(value)
    return sorted(found, key=lambda each: each["side_data_type"])


def frame_times(path):
    done = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pts_time",
                           "-of", "csv=p=0", str(path)], check=True, capture_output=True)
    return [float(line.strip(",")) for line in done.stdout.decode().split()]


def pixels(path, *filters):
    """MD5 of every decoded frame, as stored unless filters change it."""
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", *(() if filters else ("-noautorotate",)), "-i",
                           str(path), "-map", "0:v:0", *(("-vf", filters[0]) if filters else ()), "-fps_mode",
                           "passthrough", "-f", "framemd5", "-"], check=True, capture_output=True)
    return [line.split(",")[-1].strip() for line in done.stdout.decode().splitlines() if not line.startswith("#")]


def boxes(data, start, end):
    """Kind and content range of the boxes of an .mp4."""
    while start + 8 <= end:
        size = int.from_bytes(data[start:start + 4], "big")
        yield bytes(data[start + 4:start + 8]), start + 8, start + size
        start += size


def sound_behind_pictures(data):
    """The same .mp4 with samples ordered by stream, and its index in front."""
    data = bytearray(data)
    top = {kind: (start, end) for kind, start, end in boxes(data, 0, len(data))}
    places = []  # of chunk offsets in the index, by stream
    for kind, start, end in boxes(data, *top[b"moov"]):
        if kind != b"trak":
            continue
        for name in b"mdia", b"minf", b"stbl", b"stco":
            start, end = next((s, e) for k, s, e in boxes(data, start, end) if k == name)
        places.append(range(start + 8, end, 4))
    offset = lambda place: int.from_bytes(data[place:place + 4], "big")
    starts = sorted(offset(place) for each in places for place in each)
    behind = dict(zip(starts, [*starts[1:], top[b"mdat"][1]]))
    index = top[b"moov"]
    head = data[:top[b"mdat"][0] - 8]  # data before samples and index, which are at the end
    samples = bytearray()
    begin = len(head) + index[1] - index[0] + 8 + 8
    for each in places:
        for place in each:
            chunk = data[offset(place):behind[offset(place)]]
            data[place:place + 4] = (begin + len(samples)).to_bytes(4, "big")
            samples += chunk
    return bytes(head + data[index[0] - 8:index[1]] + (len(samples) + 8).to_bytes(4, "big") + b"mdat" + samples)


@unittest.skipUnless(shutil.which("ffmpeg"), "no ffmpeg program")
class Travel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.inputs = pathlib.Path(INPUTS.name)
        make_inputs(cls.inputs)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def through(self, name, output, *words, pipeline="discretise(256)"):
        """Output and report of a run that changes no 8-bit sample. .mkv is lossless unless a codec is given."""
        report = self.folder / "report.json"
        path = self.folder / output
        source = name if isinstance(name, pathlib.Path) else self.inputs / name
        if output.endswith(".mkv") and "--codec" not in words:
            words = (*words, "--codec", "ffv1")
        done = run(pipeline, str(source), "-o", str(path), "--json", str(report), "--no-profile", "-y", "-q",
                   "--structure", "sequential", *words)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        return path, json.loads(report.read_text())

    def same_packets(self, source, target, stream, of_stream, within):
        before = packets(source)[stream]
        after = packets(target)[of_stream]
        self.assertEqual([each[0] for each in before], [each[0] for each in after])
        for (_, a), (_, b) in zip(before, after):
            self.assertAlmostEqual(a, b, delta=within)

    def check_side_streams(self, source, target, within, kinds=("audio", "subtitle", "attachment")):
        """Check that every other stream is in both files, with the same packets and times."""
        before = of_kind(probe(source), *kinds)
        after = of_kind(probe(target), *kinds)
        if target.suffix == ".mp4":  # in which one stream of each kind is the default
            for each in before + after:
                del each["disposition"]["default"]
        self.assertEqual([said(each, *SIDE) for each in before], [said(each, *SIDE) for each in after])
        for a, b in zip(before, after):
            for tag in "language", "title", "filename", "mimetype":
                self.assertEqual(a.get("tags", {}).get(tag), b.get("tags", {}).get(tag), tag)
            if a["codec_type"] != "attachment":
                self.same_packets(source, target, a["index"], b["index"], within)

    # --- other streams

    def test_sound_subtitles_attachments_chapters_and_metadata_stay_as_they_are(self):
        target, report = self.through("film.mkv", "out.mkv")
        source = self.inputs / "film.mkv"
        self.assertEqual(report["not_kept"], [])
        self.check_side_streams(source, target, 0.0006)
        before, after = probe(source), probe(target)
        self.assertEqual([each["codec_type"] for each in before["streams"]],
                         [each["codec_type"] for each in after["streams"]])
        chapters = [[(c["start_time"], c["end_time"], c["tags"]) for c in each["chapters"]] for each in (before, after)]
        self.assertEqual(len(chapters[0]), 2)
        self.assertEqual(*chapters)
        for tag in "title", "ARTIST":
            self.assertEqual(before["format"]["tags"][tag], after["format"]["tags"][tag])
        video = [of_kind(each, "video")[0] for each in (before, after)]
        self.assertEqual(*[said(each, *SAMPLES, "disposition") for each in video])
        self.assertEqual(*[each["tags"]["title"] for each in video])

    def test_they_go_between_containers(self):
        for name, output in (("plain.mp4", "out.mp4"), ("plain.mp4", "out.mov"), ("editor.mov", "out.mkv"),
                             ("recording.ts", "out.mp4"), ("recording.ts", "out.mkv"), ("old.avi", "out.mp4"),
                             ("web.webm", "out.mkv"), ("master.mkv", "out.mp4")):
            with self.subTest(name + " to " + output):
                words = ("--codec", "ffv1") if output.endswith(".mkv") else ()
                if name == "master.mkv":
                    words = ("--codec", "h265", "--preset", "ultrafast")
                target, report = self.through(name, output, *words)
                within = 0.0006 if output.endswith(".mkv") else 0.00009
                kinds = ("audio",) if output == "out.mkv" else ("audio", "subtitle")
                source = self.inputs / name
                before, after = (of_kind(probe(each), *kinds) for each in (source, target))
                # ffprobe gives all MPEG-1 audio in .mp4 the same name.
                names = [[each["codec_name"].replace("mp2", "mp3") for each in all] for all in (before, after)]
                self.assertEqual(*names)
                self.assertGreater(len(after), 0)
                for a, b in zip(before, after):
                    self.same_packets(source, target, a["index"], b["index"], within)

    def test_vorbis_keeps_the_packet_before_its_first_sound(self):
        """The first packet of Vorbis decodes to nothing, but the second one needs it."""
        source = self.folder / "in.ogv"
        ffmpeg(["-f lavfi -i testsrc2=s=32x32:d=1 -f lavfi -i sine=d=1:r=48000 -c:v libtheora -c:a libvorbis in.ogv"],
               self.folder)
        for output in "out.mkv", "out.webm":
            with self.subTest(output):
                target, report = self.through(source, output)
                self.assertEqual(report["not_kept"], [])
                heard = [subprocess.check_output(["ffmpeg", "-v", "error", "-i", file, "-map", "0:a", "-f", "s16le", "-"])
                         for file in (source, target)]
                self.assertEqual(len(heard[0]), len(heard[1]))
                self.assertEqual(*heard)

    def test_a_stream_that_the_container_cannot_hold_is_named_and_the_rest_goes_on(self):
        target, report = self.through("film.mkv", "out.mp4")
        self.assertEqual([each.split(",")[0] + each[each.index(", which"):] for each in report["not_kept"]],
                         ["stream 3 (subtitles, which .mp4 cannot hold", "stream 4 (attachment, which .mp4 cannot hold"])
        self.assertIn("fra", report["not_kept"][0])
        self.check_side_streams(self.inputs / "film.mkv", target, 0.00009, ("audio",))
        self.assertEqual(len(probe(target)["chapters"]), 2)

    def test_no_audio_leaves_sound_out_and_nothing_else(self):
        target, report = self.through("film.mkv", "out.mkv", "--no-audio")
        self.assertEqual(of_kind(probe(target), "audio"), [])
        self.assertEqual(len(of_kind(probe(target), "subtitle")), 1)
        self.assertEqual(report["not_kept"], [])

    def test_outputs_without_room_for_them_say_so(self):
        for output in ("out.y4m", "out%02d.png", "out.gif"):
            with self.subTest(output):
                _, report = self.through("film.mkv", output)
                words = report["not_kept"]
                if output == "out.gif":  # each stream by its name
                    self.assertEqual(sum("which .gif cannot hold" in each for each in words), 4)
                else:
                    self.assertIn("2 streams of audio", words)
                    self.assertIn("1 stream of subtitles", words)
                self.assertIn("2 chapters", words)
                self.assertEqual([each for each in words if each.startswith("metadata")], ["metadata (title, ARTIST)"])

    def test_a_track_in_another_file_is_an_error(self):
        inside = (self.inputs / "editor.mov").read_bytes()
        for track in 0, 1:
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "editor.mov").write_bytes(inside)
                outside = pathlib.Path(folder) / "outside.mov"
                outside.write_bytes(with_track_elsewhere(inside, track, b"editor.mov"))
                done = run("blur", outside, "-o", f"{folder}/out.mov")
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(b"is in another file, which is not opened", done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_passes_of_a_loop_have_their_sound_behind_each_other(self):
        target, _ = self.through("film.mkv", "out.mkv", "--loop", "2")
        once = packets(self.inputs / "film.mkv")[1]
        twice = packets(target)[1]
        times = [time for _, time in twice]
        self.assertEqual(times, sorted(times))
        begin = frame_times(self.inputs / "film.mkv")[0]
        inside = [each for each in once if each[1] < begin + 0.6]
        self.assertEqual([each[0] for each in twice[:len(inside)]], [each[0] for each in inside])
        self.assertAlmostEqual(len(twice), 2 * len(inside), delta=2)
        self.assertAlmostEqual(times[-1], begin + 1.2, delta=0.06)

    def test_sound_ends_with_the_frames_that_are_asked_for(self):
        target, _ = self.through("film.mkv", "out.mkv", "--frames", "5")
        times = [time for _, time in packets(target)[1]]
        end = frame_times(self.inputs / "film.mkv")[5]
        self.assertLess(times[-1], end)
        self.assertGreater(times[-1], end - 0.03)

    # --- side data of frames

    def test_uneven_times_and_late_starts_stay(self):
        for name, output in (("plain.mp4", "out.mkv"), ("plain.mp4", "out.mp4"), ("recording.ts", "out.mkv")):
            with self.subTest(name + " to " + output):
                target, _ = self.through(name, output)
                shown = frame_times(self.inputs / name)
                gaps = {round(b - a, 3) for a, b in zip(shown, shown[1:])}
                self.assertEqual(len(gaps), 2 if name == "plain.mp4" else 1, gaps)  # otherwise the test would check nothing
                for a, b in zip(shown, frame_times(target), strict=True):
                    self.assertAlmostEqual(a, b, delta=0.0006)

    def test_videos_are_turned_as_ffmpeg_turns_them(self):
        for degrees in 90, 180, 270:
            with self.subTest(degrees):
                source = self.inputs / f"phone{degrees}.mp4"
                target, report = self.through(source, "out.mkv")
                self.assertEqual(pixels(source, "null"), pixels(target))
                self.assertEqual(report["not_kept"], ["stream 2 (subtitles, mov_text, und), which .mkv cannot hold"])

    def test_the_way_to_turn_a_video_stays_with_it_where_it_is_not_turned(self):
        source = self.inputs / "phone90.mp4"
        target, _ = self.through(source, "out.mp4", "--no-autorotate")
        before, after = (of_kind(probe(each), "video")[0] for each in (source, target))
        self.assertEqual((after["width"], after["height"]), (64, 48))
        self.assertEqual(side_data(before, "Display Matrix"), side_data(after, "Display Matrix"))
        self.assertEqual(len(side_data(after, "Display Matrix")), 1)
        _, report = self.through(source, "out.mkv", "--no-autorotate")
        self.assertIn("rotation by 270 degrees", report["not_kept"])

    def test_a_matrix_that_does_not_rotate_is_not_called_a_rotation(self):
        one, whole = 1 << 16, 1 << 30
        source = self.inputs / "phone90.mp4"
        for name, matrix in ("zero", (0,) * 9), ("scaling", (2 * one, 0, 0, 0, one, 0, 0, 0, whole)), \
                ("shift", (one, 0, 0, 0, one, 0, 5 * one, 0, whole)):
            with self.subTest(name):
                changed = self.folder / f"{name}.mp4"
                with_matrix(source, changed, matrix)
                _, report = self.through(changed, f"{name}-out.mkv")
                self.assertEqual([each for each in report["not_kept"] if "rotation" in each], [])
                self.assertIn("a display matrix that does not rotate", report["not_kept"])

    def test_what_a_copied_video_loses_is_named(self):
        ffmpeg(["-f lavfi -i testsrc2=s=64x48:r=25:d=0.4 -c:v libx264 -pix_fmt yuv420p plain.mp4"], self.folder)
        data = bytearray((self.folder / "plain.mp4").read_bytes())
        place = data.index(b"tkhd") + 44
        for degrees in 45, 90, 200:
            with self.subTest(degrees):
                one, angle = 1 << 16, math.radians(degrees)
                cos, sin = round(one * math.cos(angle)), round(one * math.sin(angle))
                data[place:place + 36] = struct.pack(">9i", cos, sin, 0, -sin, cos, 0, 0, 0, 1 << 30)
                (self.folder / "turned.mp4").write_bytes(data)
                source = self.folder / "two.mp4"
                ffmpeg(["-i plain.mp4 -i turned.mp4 -map 0 -map 1 -c copy two.mp4"], self.folder)
                self.assertEqual(len(side_data(of_kind(probe(source), "video")[1], "Display Matrix")), 1)
                _, report = self.through(source, "out.mkv")
                self.assertEqual(report["not_kept"], [f"rotation by {degrees} degrees of stream 1 (video, h264, und)"])
                target, report = self.through(source, "out.mp4")
                self.assertEqual(report["not_kept"], [])
                before, after = (side_data(of_kind(probe(each), "video")[1], "Display Matrix") for each in (source, target))
                self.assertEqual(before, after)

    def test_a_copied_video_begins_with_a_frame_that_needs_no_earlier_one(self):
        def frames(path):
            """MD5 of the decoded frames of the second video, and what the decoder complains about."""
            done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", str(path), "-map", "0:v:1", "-fps_mode",
                                   "passthrough", "-f", "framemd5", "-"], check=True, capture_output=True, text=True)
            return [line.split(",")[-1].strip() for line in done.stdout.splitlines() if not line.startswith("#")], done.stderr

        second = "-map 1 -c:v libx264 -pix_fmt yuv420p -g:v:1 12"
        for name, words in ("closed", "-bf 2"), ("open", "-bf 2 -x264-params:v:1 open-gop=1"), ("refresh", "-intra-refresh:v:1 1"):
            source = self.folder / f"{name}.mkv"
            ffmpeg(["-f lavfi -i testsrc2=s=64x48:r=25:d=3 -f lavfi -i testsrc2=s=64x48:r=25:d=3,noise=alls=40:allf=t",
                    f"-map 0 {second} {words} {source}"], self.folder)
            whole, _ = frames(source)
            self.assertEqual(len(whole), 75)
            for start in 0.52, 1.12, 2.04:
                with self.subTest(name, start=start):
                    target, report = self.through(source, f"{name}-out.mkv", "--start", str(start))
                    shown, complaint = frames(target) if name != "refresh" else ([], "")
                    if name == "closed":
                        self.assertEqual(complaint, "")
                    self.assertEqual([each for each in shown if each not in whole], [])
                    lost = [re.match(r"(\d+) packets? of stream 1 .*, which need others from before the part", each)
                            for each in report["not_kept"]]
                    left_out = sum(int(each[1]) for each in lost if each)
                    self.assertGreater(left_out, 0, report["not_kept"])
                    self.assertEqual(len(packets(target).get(1, [])) + left_out, 75 - round(start * 25))

    def test_a_master_keeps_its_colours_and_what_it_was_mastered_on(self):
        light = ("Mastering display metadata", "Content light level metadata")
        source = self.inputs / "master.mkv"
        before = probe(source, "-show_frames", "-read_intervals", "%+#1")
        self.assertEqual(len(side_data(before["frames"][0], *light)), 2)
        for output, words in (("out.mkv", ()), ("out.mp4", ("--codec", "h265", "--preset", "ultrafast"))):
            with self.subTest(output):
                target, report = self.through("master.mkv", output, *words)
                self.assertEqual(report["not_kept"], [])
                after = probe(target, "-show_frames", "-read_intervals", "%+#1")
                video = [of_kind(each, "video")[0] for each in (before, after)]
                self.assertEqual(*[said(each, *SAMPLES[:-1]) for each in video])
                found = side_data(video[1], *light) or side_data(after["frames"][0], *light)
                self.assertEqual(found, side_data(before["frames"][0], *light))

    def test_interlaced_video_stays_so_under_filters_that_leave_rows_alone(self):
        for output, words in (("out.mkv", ()), ("h264.mkv", ("--codec", "h264")), ("out.mp4", ())):
            target, _ = self.through("recording.ts", output, *words)
            self.assertIn(of_kind(probe(target), "video")[0]["field_order"], ("tt", "tb"), output)

    def test_interlaced_video_is_refused_where_rows_would_mix_unless_it_is_said_to_be_progressive(self):
        for pipeline in "blur", "rotate(6)", "threshold(0.5) | sobel_x", "unsharp", "flip(vertical)", "binary | median":
            done = run(pipeline, str(self.inputs / "recording.ts"), "-o", str(self.folder / "a.mkv"))
            self.assertEqual(done.returncode, 2)
            self.assertEqual(done.stderr.count(b"\n"), 1)
            self.assertIn(b"--treat-as-progressive", done.stderr)
            self.assertIn(b"interlaced", done.stderr)
            self.assertFalse((self.folder / "a.mkv").exists())
        target, _ = self.through("recording.ts", "b.mkv", "--treat-as-progressive", pipeline="blur")
        self.assertEqual(of_kind(probe(target), "video")[0].get("field_order"), "progressive")
        target, _ = self.through("recording.ts", "c.mkv", pipeline="deinterlace | resize(0, 24) | unsharp")
        self.assertEqual(of_kind(probe(target), "video")[0].get("field_order"), "progressive")
        self.assertEqual(frame_times(target), frame_times(self.through("recording.ts", "d.mkv")[0]))

    def test_the_size_and_the_shape_of_samples_follow_what_filters_do_to_them(self):
        # 64x48 shown as 16:9, so pixels have the ratio 4:3
        for pipeline, size, shape in (("resize(96, 48)", (96, 48), "8:9"), ("resize(32, 0, area)", (32, 24), "4:3"),
                                      ("transpose", (48, 64), "3:4"), ("flip(both)", (64, 48), "4:3"),
                                      ("crop_at(2, 4, 20, 30)", (20, 30), "4:3"), ("pad(4, 2, 6, 8)", (74, 58), "4:3"),
                                      ("transpose | resize(0, 32) | temporal_median", (24, 32), "3:4")):
            with self.subTest(pipeline):
                target, _ = self.through("film.mkv", "shape.mkv", pipeline=pipeline)
                before, after = probe(self.inputs / "film.mkv"), probe(target)
                video = of_kind(after, "video")[0]
                self.assertEqual((video["width"], video["height"], video["sample_aspect_ratio"]), (*size, shape))
                tags = SAMPLES[2:3] + SAMPLES[4:9]
                self.assertEqual(said(video, *tags), said(of_kind(before, "video")[0], *tags))
                self.assertEqual(frame_times(target), frame_times(self.inputs / "film.mkv"))

    # --- identity

    def test_an_identity_keeps_every_sample_of_every_format(self):
        formats = ["gray", "gray10le", "gray16le"]
        formats += [f"yuv{chroma}p{bits}" for chroma in (420, 422, 444) for bits in ("", "9le", "10le", "12le", "14le", "16le")]
        ffmpeg(["-f lavfi -i testsrc2=s=48x32:d=0.12",
                *[f"-c:v ffv1 -pix_fmt {name} {name}.mkv" for name in formats]], self.folder)
        names = [f"{name}.mkv" for name in formats]
        environment = os.environ | {"XDG_CACHE_HOME": CACHE.name}
        done = subprocess.run([MILLRACE, "batch", "crop(1)", *names, "-o", "out/{name}", "--codec", "ffv1", "--no-profile",
                               "-q"],
                              capture_output=True, cwd=self.folder, env=environment, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        for name in names:
            self.assertEqual(pixels(self.folder / name), pixels(self.folder / "out" / name), name)

    # --- parts of a video

    def test_parts_are_exact_to_the_frame_and_sound_is_cut_with_them(self):
        all_pixels = pixels(self.inputs / "film.mkv")
        sound = packets(self.inputs / "film.mkv")[1]
        begin = frame_times(self.inputs / "film.mkv")[0]
        for start, end in ((0.2, 0.4), (0, 0.32), (0.36, None), (0.21, 0.39), (0.199, 0.201)):
            with self.subTest(f"{start} to {end}"):
                words = (["--start", str(start)] if start else []) + (["--end", f"0:00:{end}"] if end else [])
                target, _ = self.through("film.mkv", "out.mkv", *words)
                wanted = [n for n in range(15) if start - 1e-6 <= n * 0.04 < (end or 9) - 1e-6]
                self.assertEqual(pixels(target), [all_pixels[n] for n in wanted])
                for n, time in zip(wanted, frame_times(target), strict=True):
                    self.assertAlmostEqual(time, begin + n * 0.04 - start, delta=0.0011)
                expected = [(h, t - start) for h, t in sound
                            if (t >= begin + start or not start) and t < begin + (end or 9)]
                found = packets(target).get(1, [])
                self.assertEqual([h for h, _ in found], [h for h, _ in expected])
                for (_, a), (_, b) in zip(found, expected):
                    self.assertAlmostEqual(a, b, delta=0.0016)

    def test_far_parts_are_found_by_key_frames_and_are_exact_too(self):
        ffmpeg(["-f lavfi -i testsrc2=s=32x32:r=25:d=8 -f lavfi -i sine=d=8 -map 0 -map 1 -c:v libx264",
                "-preset ultrafast -bf 2 -g 30 -c:a aac long.mkv -map 0 -map 1 -c:v libx264 -bf 2 -g 30",
                "-x264-params open-gop=1 -c:a aac long.mp4 -map 0 -map 1 -c:v mpeg2video -g 30 -bf 2 -c:a mp2 long.ts"],
               self.folder)
        for name in "long.mkv", "long.mp4", "long.ts":
            with self.subTest(name):
                source = self.folder / name
                target, report = self.through(source, "out.mkv", "--start", "6.4", "--frames", "7")
                self.assertEqual(pixels(target), pixels(source)[160:167])
                self.assertEqual(report["left_out"]["at_start"], 0)
                times = [time for _, time in packets(target)[1]]
                first = frame_times(target)[0]
                self.assertLess(times[0] - first, 0.03)
                self.assertAlmostEqual(times[-1] - first, 7 * 0.04, delta=0.03)

    def test_parts_that_are_not_there_are_refused_in_one_line(self):
        source = str(self.inputs / "film.mkv")
        for code, words in ((2, ("--start", "abc")), (2, ("--end", "1:99")), (2, ("--start", "2", "--end", "1")),
                            (1, ("--start", "100"))):
            done = run("blur", source, "-o", "null", *words)
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)

    # --- formats, codecs, containers

    def test_codecs_and_containers_write_what_is_asked_for(self):
        cases = (("out.mp4", "h264", ("--crf", "30", "--preset", "ultrafast"), "h264"),
                 ("out.mov", "prores", ("--format", "yuv422p10", "--preset", "lt"), "prores"),
                 ("a.mp4", "h265", ("--bitrate", "200k", "--preset", "ultrafast"), "hevc"),
                 ("out.webm", "vp9", ("--crf", "40", "--preset", "8"), "vp9"),
                 ("out.gif", "gif", (), "gif"),
                 ("raw.mkv", "rawvideo", (), "rawvideo"),
                 ("opts.mkv", "h264", ("--encoder-options", "bf=0,g=5"), "h264"))
        for output, codec, words, name in cases:
            with self.subTest(f"{codec} in {output}"):
                target, _ = self.through("plain.mp4", output, "--codec", codec, *words)
                video = of_kind(probe(target), "video")[0]
                self.assertEqual(video["codec_name"], name)
                self.assertEqual(len(frame_times(target)), 15)
                if codec == "prores":
                    self.assertEqual((video["profile"], video["pix_fmt"]), ("LT", "yuv422p10le"))
                if output == "opts.mkv":
                    self.assertEqual(video["has_b_frames"], 0)

    def test_mkv_is_h264_unless_told_otherwise_and_the_summary_names_codec_and_size(self):
        for source, words, codec, title, bits in (("plain.mp4", (), "h264", "H.264", "yuv420p"),
                                                  ("plain.mp4", ("--codec", "ffv1"), "ffv1", "FFV1 (lossless)", "yuv420p"),
                                                  ("lossless.mkv", (), "ffv1", "FFV1 (lossless)", "yuv444p12le")):
            with self.subTest(f"{source} {words}"):
                target, report = self.folder / "a.mkv", self.folder / "a.json"
                done = run("blur", str(self.inputs / source), "-o", str(target), "-y", "--json", str(report), *words)
                self.assertEqual(done.returncode, 0, done.stderr)
                video = of_kind(probe(target), "video")[0]
                self.assertEqual((video["codec_name"], video["pix_fmt"]), (codec, bits))
                account = json.loads(report.read_text())
                self.assertEqual((account["codec"], account["output_bytes"]), (codec, target.stat().st_size))
                text = done.stderr.decode()
                self.assertRegex(text, rf"wrote .*a.mkv \(.*, {re.escape(title)}, [0-9.]+ .?B?y?t?e?s?\)")
                fell_back = source == "lossless.mkv"
                self.assertEqual("H.264 cannot take" in text and "encoded with FFV1 (lossless) instead" in text, fell_back, text)
                self.assertEqual(len(account["warnings"]), int(fell_back))

    def test_av1_is_written_without_a_word_of_its_encoder(self):
        done = run("crop(1)", "test:64x64@5", "-o", str(self.folder / "a.mp4"), "--codec", "av1", "--preset", "12", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        video = of_kind(probe(self.folder / "a.mp4"), "video")[0]
        self.assertEqual((video["codec_name"], video["nb_frames"]), ("av1", "5"))
        self.assertEqual(run("crop(1)", "test:64x48@5", "-o", str(self.folder / "b.mp4"), "--codec", "av1").returncode, 2)

    def test_unknown_words_are_refused_in_one_line_with_the_nearest(self):
        for words, nearest in ((("--codec", "h246"), b"h264"), (("--preset", "ultrafst"), b"ultrafast"),
                               (("--encoder-options", "gg=3"), b""), (("--encoder-options", "bitrat=3"), b""),
                               (("--encoder-options", "crff=3"), b"crf"), (("--encoder-options", "bf"), b"name=value"),
                               (("--bitrate", "many"), b"5M"), (("--format", "yuv240p"), b"yuv420p"),
                               (("--crf", "99"), b"51"), (("--crf", "20", "--bitrate", "1M"), b"not both"),
                               (("--codec", "ffv1", "--crf", "20"), b"FFV1"), (("--codec", "prores"), b".mkv")):
            with self.subTest(" ".join(words)):
                done = run("blur", "test:64x48@2", "-o", str(self.folder / "a.mp4"), *words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
                self.assertIn(nearest, done.stderr)
                self.assertEqual(list(self.folder.iterdir()), [])

    def test_formats_are_converted_at_the_ends(self):
        for name, stored in (("gray", "gray"), ("gray16", "gray16le"), ("yuv444p16", "yuv444p16le"),
                             ("yuv420p10", "yuv420p10le"), ("nv12", "nv12"), ("rgb24", "rgb24"),
                             ("gbrp16", "gbrp16le")):
            with self.subTest(name):
                codec = "rawvideo" if name in ("nv12", "rgb24") else "ffv1"
                target, _ = self.through("film.mkv", name + ".mkv", "--format", name, "--codec", codec, pipeline="crop(1)")
                self.assertEqual(of_kind(probe(target), "video")[0]["pix_fmt"], stored)

    def test_layouts_that_are_not_planar_hold_the_same_samples(self):
        ffmpeg(["-f lavfi -i testsrc2=s=48x32:d=0.12 -c:v ffv1 -pix_fmt yuv420p10le deep.mkv"], self.folder)
        for name in "p010", "nv12", "yuv420p10":
            self.through(self.folder / "deep.mkv", name + ".yuv", "--format", name, pipeline="crop(1)")
        samples = subprocess.run(["ffmpeg", "-v", "error", "-i", str(self.folder / "deep.mkv"), "-f", "rawvideo",
                                  "-pix_fmt", "p010le", "-"], check=True, capture_output=True).stdout
        self.assertEqual((self.folder / "p010.yuv").read_bytes(), samples)
        self.assertEqual((self.folder / "nv12.yuv").stat().st_size, 3 * 48 * 32 * 3 // 2)
        done = run("crop(1)", str(self.folder / "deep.mkv"), "-o", str(self.folder / "p.mkv"), "--format", "p010",
                   "--codec", "rawvideo")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1))

    def test_rgb_comes_back_as_it_was(self):
        ffmpeg(["-f lavfi -i testsrc2=s=48x32:d=0.12 -c:v ffv1 -pix_fmt gbrp16le deep.mkv"], self.folder)
        ffmpeg(["-f lavfi -i testsrc2=s=48x32:d=0.12,format=rgb24 -start_number 7 in%03d.png"], self.folder)
        done = run("crop(1)", str(self.folder / "in%03d.png"), "-o", str(self.folder / "out%02d.png"), "--format",
                   "rgb24", "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        def samples(path):
            return subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                                  check=True, capture_output=True).stdout
        for n in range(3):
            self.assertEqual(samples(self.folder / f"in{n + 7:03}.png"), samples(self.folder / f"out{n + 1:02}.png"))

    def test_an_encoder_that_gets_no_frame_ends_too(self):
        """SVT-AV1 can hang in this case."""
        ffmpeg(["-f lavfi -i testsrc2=s=96x64:d=0.2 -c:v ffv1 -pix_fmt yuv420p short.mkv"], self.folder)
        for codec in ("av1", "h264", "h265", "vp9"):
            with self.subTest(codec):
                words = ["blur", str(self.folder / "short.mkv"), "-o", str(self.folder / "no.mkv"), "--codec", codec]
                done = run(*words, "--start", "50")
                self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
                self.assertFalse((self.folder / "no.mkv").exists())
                done = run(*words, "-q")
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                (self.folder / "no.mkv").unlink()

    def test_mov_takes_what_others_read_there_and_the_rest_is_named(self):
        ffmpeg(["-f lavfi -i testsrc2=s=64x48:d=0.2 -f lavfi -i sine=d=0.2 -map 0:v -map 1:a -c:v ffv1 -c:a wmav2 wma.mkv",
                "-map 0:v -frames:v 1 cover.png"], self.folder)
        ffmpeg([f"-i {self.inputs / 'plain.mp4'} -i cover.png -map 0:v -map 1 -c copy -disposition:v:1 attached_pic cover.mp4"],
               self.folder)
        _, report = self.through(self.folder / "wma.mkv", "out.mov")
        self.assertEqual(report["not_kept"], ["stream 1 (audio, wmav2), which .mov cannot hold"])
        target, report = self.through(self.folder / "cover.mp4", "out.mov")
        self.assertEqual([each.split(",")[-1] for each in report["not_kept"]], [" which .mov cannot hold"])
        self.assertEqual(len(of_kind(probe(target), "video")), 1)
        for codec in ("av1", "vp9", "rawvideo"):
            done = run("blur", str(self.inputs / "plain.mp4"), "-o", str(self.folder / "no.mov"), "--codec", codec)
            self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1), done.stderr)
            self.assertIn(b"use .mkv", done.stderr)

    def test_a_folder_of_pictures_may_have_any_name(self):
        (self.folder / "100%").mkdir()
        done = run("crop(1)", "test:32x32@2", "-o", str(self.folder / "100%%" / "p%02d.png"), "-q")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(len(list((self.folder / "100%").iterdir())), 2)

    def test_jpeg_shows_what_the_video_shows(self):
        """JPEG is full range, and most video is not."""
        def shown(path):
            done = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-frames:v", "1", "-f", "rawvideo",
                                   "-pix_fmt", "rgb24", "-"], check=True, capture_output=True)
            return done.stdout
        ffmpeg(["-f lavfi -i smptehdbars=s=640x480:d=0.2 -map 0 -c:v ffv1 -pix_fmt yuv420p limited.mkv",
                "-map 0 -vf scale=out_range=full -c:v ffv1 -pix_fmt yuv422p -color_range pc full.mkv"], self.folder)
        for source in ("limited.mkv", "full.mkv"):
            for form in ((), ("--format", "yuv444p"), ("--format", "nv12"), ("--format", "rgb24")):
                with self.subTest(f"{source} {form}"):
                    self.through(self.folder / source, "shown%d.jpg", *form, pipeline="crop(1)")
                    before, after = shown(self.folder / source), shown(self.folder / "shown1.jpg")
                    apart = sum(abs(a - b) for a, b in zip(before, after)) / len(before)
                    self.assertLess(apart, 3)

    def test_pictures_become_a_video_and_a_video_pictures(self):
        target, _ = self.through("lossless.mkv", "frame%04d.png", pipeline="crop(1)")
        names = sorted(each.name for each in self.folder.glob("*.png"))
        self.assertEqual(names, [f"frame{n:04}.png" for n in range(1, 16)])
        video, report = self.through(self.folder / "frame%04d.png", "back.mkv", pipeline="crop(1)")
        self.assertEqual(report["frames"], 15)
        self.assertEqual(len(frame_times(video)), 15)
        (self.folder / "frame0005.png").unlink()
        _, report = self.through(self.folder / "frame%04d.png", "back.mkv", pipeline="crop(1)")
        self.assertEqual(report["frames"], 4)
        done = run("crop(1)", str(self.inputs / "plain.mp4"), "-o", str(self.folder / "frame%04d.png"))
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"frame0001.png", done.stderr)
        done = run("crop(1)", str(self.folder / "no%d.png"), "-o", "null")
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (2, 1))

    def test_bare_samples_are_those_of_y4m(self):
        run("crop(1)", "test:16x8@2", "-o", str(self.folder / "a.yuv"))
        run("crop(1)", "test:16x8@2", "-o", str(self.folder / "a.y4m"))
        frames = (self.folder / "a.y4m").read_bytes().split(b"FRAME\n")[1:]
        self.assertEqual((self.folder / "a.yuv").read_bytes(), b"".join(frames))

    # --- everything together

    def test_what_ffprobe_says_of_input_and_output_differs_only_where_it_must(self):
        """Combinations of container, codec, sample format, rotation, timestamps and audio."""
        rows = [  # input, codec, format, quarter turn, timestamps, audio, output
            ("a.mp4", "h264", "yuv420p", 90, "uneven", "aac", "mp4"),
            ("b.mp4", "h264", "yuv444p", 0, "late", "libopus", "mkv"),
            ("c.mp4", "hevc", "yuv420p10le", 270, "even", "libmp3lame", "mkv"),
            ("d.mov", "prores", "yuv422p10le", 0, "even", "pcm_s16le", "mov"),
            ("e.mov", "h264", "yuv422p", 180, "uneven", None, "mov"),
            ("f.mov", "hevc", "yuv420p", 90, "late", "aac", "mp4"),
            ("g.mkv", "ffv1", "yuv444p16le", 0, "uneven", "flac", "mkv"),
            ("h.mkv", "h264", "gray", 0, "late", "libmp3lame", "mp4"),
            ("i.mkv", "ffv1", "yuv420p10le", 0, "even", "flac", "mp4"),
            ("j.mkv", "vp9", "yuv420p", 0, "uneven", "libopus", "webm"),
            ("k.webm", "vp9", "yuv444p", 0, "late", "libopus", "mkv"),
            ("l.webm", "vp9", "yuv420p", 0, "even", None, "webm"),
            ("m.ts", "h264", "yuv420p", 0, "uneven", "aac", "mp4"),
            ("n.ts", "mpeg2", "yuv420p", 0, "late", "mp2", "mkv"),
            ("o.ts", "hevc", "yuv420p10le", 0, "even", "libmp3lame", "mov"),
            ("p.avi", "ffv1", "yuv422p", 0, "even", "pcm_s16le", "mkv"),
        ]
        encoders = {"h264": "libx264 -preset ultrafast", "hevc": "libx265 -preset ultrafast -x265-params log-level=none",
                    "prores": "prores_ks", "ffv1": "ffv1", "vp9": "libvpx-vp9 -deadline realtime -cpu-used 8",
                    "mpeg2": "mpeg2video"}
        # From FFmpeg 7 on, the encoder's options do not replace the colours of frames.
        colors = "-vf setparams=range=tv:color_primaries=bt709:color_trc=bt709:colorspace=bt709"
        timing = {"even": colors, "uneven": f"{colors},{UNEVEN}", "late": f"{colors},setpts=PTS+0.24/TB {LASTING}"}
        tags = ("-color_primaries bt709 -color_trc bt709 -colorspace bt709 -color_range tv "
                "-metadata title=Clip -metadata:s:a language=deu")
        words = []
        for name, codec, pixels_of, degrees, times, sound, _ in rows:
            audio = f"-map 1:a -c:a {sound}" if sound else "-an"
            words.append(f"-map 0:v {audio} {timing[times]} -c:v {encoders[codec]} -pix_fmt {pixels_of} {tags} "
                         f"-aspect 3:2 {'t' if degrees else ''}{name}")
        ffmpeg(["-f lavfi -i testsrc2=s=64x48:r=25:d=0.28 -f lavfi -i sine=r=44100:d=0.28", *words], self.folder)
        for name, _, _, degrees, *_ in rows:
            if degrees:
                turn(self.folder / f"t{name}", self.folder / name, degrees)
        for name, codec, pixels_of, degrees, times, sound, container in rows:
            with self.subTest(f"{name}, {codec}, {pixels_of}, {degrees} degrees, {times}, {sound}, to .{container}"):
                source = self.folder / name
                # Use another codec if the output's default codec does not support the format.
                words = {"mov": ("--codec", "prores", "--format", "yuv422p10"), "webm": ("--preset", "8")}.get(container, ())
                target, report = self.through(source, "out." + container, *words, pipeline="crop(1)")
                self.assertEqual(report["not_kept"], [])
                # FFmpeg 7 tells the range of ProRes only with its frames.
                changed = ("pix_fmt", "chroma_location", "color_range") if container == "mov" else ()
                self.check_accounts(source, target, degrees, changed)

    # ffprobe fields about coding and storage, which may change. All others must stay.
    STORED = {"index", "id", "codec_tag", "codec_tag_string", "time_base", "start_pts", "start_time", "duration", "duration_ts",
              "bit_rate", "max_bit_rate", "nb_frames", "extradata_size", "extradata_hash", "r_frame_rate", "avg_frame_rate", "tags",
              "disposition", "initial_padding", "mime_codec_string", "ts_id", "ts_packetsize"}
    CODED = STORED | {"codec_name", "codec_long_name", "profile", "level", "has_b_frames", "refs", "is_avc",
                      "nal_length_size", "bits_per_raw_sample", "closed_captions", "film_grain", "coded_width",
                      "coded_height", "field_order", "side_data_list", "quarter_sample", "divx_packed",
                      "view_ids_available", "view_pos_available"}

    def check_accounts(self, source, target, turn, changed):
        accounts = [probe(each, "-show_packets", "-show_data_hash", "md5") for each in (source, target)]
        before, after = (each["streams"] for each in accounts)
        self.assertEqual([each["codec_type"] for each in before], [each["codec_type"] for each in after])
        titles = [each["format"].get("tags", {}) for each in accounts]
        self.assertEqual(*[each.get("title", each.get("TITLE")) for each in titles])
        for a, b in zip(before, after):
            video = a["codec_type"] == "video"
            packets_of = [[p for p in account["packets"] if p["stream_index"] == stream["index"]]
                          for account, stream in zip(accounts, (a, b))]
            stored = self.CODED if video else self.STORED
            said_before, said_after = ({k: v for k, v in each.items() if k not in stored and k not in changed} for each in (a, b))
            if video and turn % 180:
                said_before["width"], said_before["height"] = said_before["height"], said_before["width"]
                for key in "sample_aspect_ratio", "display_aspect_ratio":
                    said_before[key] = ":".join(reversed(said_before[key].split(":")))
                said_before.pop("chroma_location", None), said_after.pop("chroma_location", None)  # rotated too
            if video and ("420" not in a["pix_fmt"] or "chroma_location" not in said_before):
                for each in said_before, said_after:  # defaults of FFmpeg's decoders
                    each.pop("chroma_location", None)
            if not video:
                # ffprobe calls all MPEG-1 audio in .mp4 and .mov MP3.
                for each in said_before, said_after:
                    each["codec_name"] = each["codec_name"].replace("mp2", "mp3")
                    for key in "codec_long_name", "sample_fmt":
                        each.pop(key, None)
            self.assertEqual(said_before, said_after)
            if video:
                self.assertNotIn("Display Matrix", [each["side_data_type"] for each in b.get("side_data_list", [])])
            else:
                languages = [each.get("tags", {}).get("language", "und") for each in (a, b)]
                if target.suffix != ".mov":  # .mov names some languages differently and lacks others
                    self.assertEqual(*languages)
                adts = source.suffix == ".ts" and a["codec_name"] == "aac"  # each packet there has its own header
                if not adts:
                    self.assertEqual(*[[p["data_hash"] for p in each] for each in packets_of])
            for at, found in zip(*[sorted(float(p["pts_time"]) for p in each) for each in packets_of], strict=True):
                # Matroska has no times below 0, but a place for what a decoder is to leave out: of Opus, and of all codecs from
                # FFmpeg 8 on.
                if target.suffix in (".mkv", ".webm") and a["codec_name"] != "opus" and found >= 0:
                    at = max(at, 0)
                self.assertAlmostEqual(at, found, delta=0.0006)

    def test_frames_that_an_edit_list_hides_are_not_said_to_be_missing(self):
        ffmpeg(["-ss 0.37 -i plain.mp4 -map 0:v -map 0:a -c copy edited.mp4"], self.inputs)
        source = self.inputs / "edited.mp4"
        self.assertIn("D", "".join(each["flags"] for each in probe(source, "-show_packets")["packets"]))
        for output in "out.mp4", "out.mkv":
            target, report = self.through(source, output)
            self.assertEqual(report["left_out"], {"at_start": 0, "damaged": 0, "first_damage": ""})
            for a, b in zip(frame_times(source), frame_times(target), strict=True):
                self.assertAlmostEqual(a, b, delta=0.0006)

    # --- when something goes wrong

    def test_where_sound_is_cut_off_the_video_is_still_whole(self):
        """In an .mp4 that has all its sound behind all its pictures, cut within the sound, or within the pictures."""
        (self.folder / "apart.mp4").write_bytes(sound_behind_pictures((self.inputs / "plain.mp4").read_bytes()))
        whole = pixels(self.folder / "apart.mp4")
        self.assertEqual(len(whole), 15)
        video = [p for p in probe(self.folder / "apart.mp4", "-show_packets")["packets"] if p["codec_type"] == "video"]
        end = max(int(p["pos"]) + int(p["size"]) for p in video)
        data = (self.folder / "apart.mp4").read_bytes()
        for cut in end, end + 1000, end + 2000:
            (self.folder / "cut.mp4").write_bytes(data[:cut])
            target, report = self.through(self.folder / "cut.mp4", "out.mkv")
            self.assertEqual(pixels(target), whole, cut)
            self.assertIn("the end of the other streams", "; ".join(report["not_kept"]))
        (self.folder / "cut.mp4").write_bytes(data[:end - 300])
        done = run("blur", str(self.folder / "cut.mp4"), "-o", str(self.folder / "b.mkv"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"damaged or truncated", done.stderr)
        self.assertLess(len(frame_times(self.folder / "b.mkv")), 15)

    def test_the_options_are_those_of_batch(self):
        jobs = self.folder / "jobs.toml"
        jobs.write_text(f'[[job]]\npipeline = "crop(1)"\ninput = "{self.inputs / "film.mkv"}"\noutput = "{self.folder}/a.mkv"\n'
                        'no_audio = true\nstart = "0.2"\nend = "0.4"\ncodec = "h264"\nencoder_options = ["bf=0"]\n'
                        'preset = "ultrafast"\ncrf = 30\nformat = "yuv444p"\n')
        environment = os.environ | {"XDG_CACHE_HOME": CACHE.name}
        done = subprocess.run([MILLRACE, "batch", "--job-file", str(jobs), "-q", "--no-profile"], capture_output=True,
                              env=environment, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        account = probe(self.folder / "a.mkv")
        self.assertEqual(of_kind(account, "audio"), [])
        self.assertEqual(of_kind(account, "video")[0]["pix_fmt"], "yuv444p")
        self.assertEqual(len(frame_times(self.folder / "a.mkv")), 5)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
