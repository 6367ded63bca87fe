"""References in a video file are opened only if they name a file in the same folder: no network address, no other
file.

usage: untrusted_input_test.py MILLRACE
"""

import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

MILLRACE = os.path.abspath(sys.argv[1])
CACHE = tempfile.TemporaryDirectory()
INPUTS = tempfile.TemporaryDirectory()
ENVIRONMENT = os.environ | {"XDG_CACHE_HOME": CACHE.name}
PATIENCE = 60  # after so many seconds something hangs


def run(*words, **options):
    return subprocess.run([MILLRACE, *map(str, words)], capture_output=True, timeout=PATIENCE, env=ENVIRONMENT, **options)


def ffmpeg(words, folder):
    done = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *words.split()], cwd=folder, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())


def setUpModule():
    ffmpeg("-f lavfi -i testsrc2=s=64x48:r=25:d=2 -f lavfi -i sine=d=2 -c:v libx264 -preset ultrafast -g 25 -c:a aac "
           "-f hls -hls_time 1 -hls_list_size 0 -hls_playlist_type vod whole.m3u8", INPUTS.name)
    ffmpeg("-i whole.m3u8 -map 0:v -c copy first.mp4", INPUTS.name)


def media_playlist(url):
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\n{url}\n#EXT-X-ENDLIST\n"


def later_segment(url):
    return f"#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:1,\nwhole0.ts\n#EXTINF:1,\n{url}\n#EXT-X-ENDLIST\n"


def master_playlist(url):
    return f"#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=100000\nwhole.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=900000\n{url}\n"


def rendition(url):
    return (f'#EXTM3U\n#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="a",DEFAULT=YES,URI="{url}"\n'
            '#EXT-X-STREAM-INF:BANDWIDTH=100000,AUDIO="a"\nwhole.m3u8\n')


def key(url):
    return (f'#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-KEY:METHOD=AES-128,URI="{url}"\n#EXTINF:1,\nwhole0.ts\n'
            "#EXT-X-ENDLIST\n")


def init_section(url):
    return f'#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXT-X-MAP:URI="{url}"\n#EXTINF:1,\nwhole0.ts\n#EXT-X-ENDLIST\n'


def manifest(url):
    return ('<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
            'mediaPresentationDuration="PT2S" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011"><Period>'
            '<AdaptationSet mimeType="video/mp4"><Representation id="1" bandwidth="100000" width="64" height="48">'
            f"<BaseURL>{url}</BaseURL></Representation></AdaptationSet></Period></MPD>\n")


def file_list(url):
    return f"ffconcat version 1.0\nfile {url}\n"


KINDS = (media_playlist, later_segment, master_playlist, rendition, key, init_section, manifest, file_list)


class Untrusted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.above = pathlib.Path(folder.name)
        self.folder = self.above / "inside"
        shutil.copytree(INPUTS.name, self.folder)
        # The kernel completes connections, which then wait to be accepted.
        self.server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.server.close)
        self.server.setblocking(False)
        self.port = self.server.getsockname()[1]

    def expect_no_connection(self):
        with self.assertRaises(BlockingIOError):
            self.server.accept()

    def refused(self, words, *commands):
        """Check that every command fails with one line that contains all the words, and that no connection was made."""
        for command in commands:
            with self.subTest(command=[str(word) for word in command]):
                done = run(*command)
                text = done.stderr.decode()
                self.assertEqual(done.returncode, 1, text)
                self.assertEqual(text.count("\n"), 1, text)
                for word in words:
                    self.assertIn(word, text)
                self.expect_no_connection()

    def commands(self, file):
        """Each way to open an input."""
        yield "run", "crop(1)", file, "-o", "null", "-q"
        yield "run", "[input, second] | blend(average)", self.folder / "first.mp4", file, "-o", "null", "-q"
        yield "plan", "crop(1)", file, "--chunk", "1s", "-o", self.above / "plan.json", "-q"
        yield "run", "crop(1)", file, "-o", "null", "-q", "--on-damage", "skip"

    def test_no_file_opens_a_network_address_whatever_the_protocol_and_kind_of_playlist(self):
        here = f"127.0.0.1:{self.port}"
        urls = [f"{protocol}://{here}/whole0.ts" for protocol in
                ("http", "https", "tcp", "tls", "ftp", "rtmp", "rtsp", "mmst", "httpproxy", "gopher", "icecast", "srt")]
        urls += [f"{outer}:http://{here}/whole0.ts" for outer in ("cache", "async", "crypto", "subfile,,start,0,end,0,")]
        urls += [f"crypto+http://{here}/whole0.ts", f"concat:http://{here}/a.ts|http://{here}/b.ts"]
        chosen = random.Random(40)
        for kind in KINDS:
            # HLS accepts more kinds of HTTP addresses than other formats.
            for url in ["http://" + here + "/whole0.ts", *chosen.sample(urls, 1)]:
                file = self.folder / ("evil" + chosen.choice((".mp4", ".mkv", ".m3u8", ".ts")))
                file.write_text(kind(url))
                with self.subTest(kind=kind.__name__, url=url):
                    done = run("run", "crop(1)", file, "-o", "null", "-q")
                    text = done.stderr.decode()
                    self.assertEqual(text.count("\n"), 1, text)
                    self.assertNotEqual(done.returncode, 0)
                    self.assertNotIn("damaged", text if url.startswith("http:") else "")
                    self.expect_no_connection()
                file.unlink()

    def test_the_error_names_what_the_file_wanted_however_it_is_opened(self):
        file = self.folder / "evil.mp4"
        for kind in manifest, file_list:
            file.write_text(kind(f"http://127.0.0.1:{self.port}/whole0.ts"))
            self.refused(["evil.mp4: is a list of other files"], *self.commands(file))
        file = self.folder / "evil.m3u8"
        for kind in media_playlist, later_segment, master_playlist:
            file.write_text(kind(f"http://127.0.0.1:{self.port}/whole0.ts"))
            self.refused([f"'http://127.0.0.1:{self.port}", "evil.m3u8"], *self.commands(file))
        file.write_text(media_playlist(f"http://127.0.0.1:{self.port}/whole0.ts"))
        done = run("batch", "crop(1)", file, "-o", "null", "-q")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"'http://127.0.0.1:{self.port}".encode(), done.stderr)
        self.expect_no_connection()

    def test_a_playlist_that_does_not_look_like_one_by_its_name_or_is_of_another_kind_is_called_a_playlist(self):
        """FFmpeg 5 reads an HLS playlist whatever its name, FFmpeg 7 does not."""
        file = self.folder / "evil.mp4"
        file.write_text(media_playlist(f"http://127.0.0.1:{self.port}/whole0.ts"))
        done = run("run", "crop(1)", file, "-o", "null", "-q")
        self.assertRegex(done.stderr.decode(), rf"evil.mp4: (is a playlist, .*m3u8|refers to 'http://127.0.0.1:{self.port})")
        file.write_text("#EXTM3U\nwhole0.ts\n")
        self.refused(["evil.mp4: is a playlist", "HLS", ".m3u8"], *self.commands(file))

    def test_a_description_of_a_network_stream_opens_no_port(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1] & ~1
        file = self.folder / "evil.mp4"
        file.write_text(f"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video {port} RTP/AVP 96\n"
                        "a=rtpmap:96 H264/90000\n")
        self.refused(["evil.mp4", "network"], *self.commands(file))

    def test_no_file_opens_another_outside_its_folder(self):
        outside = self.above / "outside.ts"
        shutil.copy(self.folder / "whole0.ts", outside)
        (self.folder / "link.ts").symlink_to(outside)
        (self.folder / "folderlink").symlink_to(self.above)
        os.mkfifo(self.folder / "fifo.ts")
        file = self.folder / "evil.m3u8"
        for url in ("../outside.ts", outside, f"file:{outside}", f"file://{outside}", "link.ts", "folderlink/outside.ts",
                    "sub/../../outside.ts", "fifo.ts", "/dev/zero", "pipe:0", "fd:0", "unix:socket.ts", "/proc/self/fd/0"):
            file.write_text(random.choice((media_playlist, later_segment, file_list))(url))
            with self.subTest(url=str(url)):
                self.refused(["evil.m3u8"], ("run", "crop(1)", file, "-o", "null", "-q"))

    def test_a_playlist_of_files_in_its_folder_is_read_whole(self):
        shutil.copytree(INPUTS.name, self.folder / "parts")
        (self.folder / "below.m3u8").write_text(later_segment("parts/whole1.ts"))
        for name in "whole.m3u8", "below.m3u8":
            for file, folder in (self.folder / name, self.above), (name, self.folder), (f"./{name}", self.folder):
                ours = self.above / "ours.y4m"
                done = run("run", "crop(1)", file, "-o", ours, "-y", "-q", cwd=folder)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                ffmpeg(f"-i {self.folder / name} -fps_mode passthrough theirs.y4m", self.above)
                self.assertEqual(ours.read_bytes().count(b"FRAME\n"),
                                 (self.above / "theirs.y4m").read_bytes().count(b"FRAME\n"))

    def test_a_segment_that_is_missing_is_an_error_and_not_a_gap(self):
        file = self.folder / "whole.m3u8"
        (self.folder / "whole1.ts").unlink()
        self.refused(["whole1.ts", "No such file"], ("run", "crop(1)", file, "-o", "null", "-q"))

    def test_an_interrupt_ends_the_wait_for_a_playlist_that_grows(self):
        """The playlist is read again after its target duration."""
        file = self.folder / "live.m3u8"
        file.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:6000\n#EXTINF:1,\nwhole0.ts\n#EXTINF:1,\nwhole1.ts\n")
        with subprocess.Popen([MILLRACE, "run", "crop(1)", str(file), "-o", "-", "-q"], env=ENVIRONMENT,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            # The test waits for the data read, so the reference must be at or near the end.
            frame = 64 * 48 * 3 // 2
            self.assertGreater(len(child.stdout.read(20 * frame)), 19 * frame)
            child.send_signal(signal.SIGINT)
            text = child.communicate(timeout=PATIENCE)[1]
            self.assertEqual(child.returncode, 130, text)

    def test_an_address_is_no_input(self):
        """URLs are rejected even if the server stays silent. They are for `python -m millrace.cluster`."""
        done = run("run", "crop(1)", f"http://127.0.0.1:{self.port}/a.mp4", "-o", "null")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(b"ffmpeg -i", done.stderr)
        self.expect_no_connection()


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
