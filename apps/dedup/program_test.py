"""Runs the program as a user would and checks what it prints, writes and returns.

usage: program_test.py MILLRACE_DEDUP
"""

import base64
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = sys.argv[1]

# Written by the last program that made version 1, from first_version_stream().
FIRST_VERSION = base64.b64decode("""
ik1SRA0KGgoBAAAAxePGhgBAIAAABAAAARMAAAAAAABEAQAAiCEAAFsIAACKR2WZGsgHgOW+9cgotS/9YIggjUIAWuwEGhWwJYUOwrFWMChJ
hlLuJJNMUncipwObAZgBmwHDRUwMx2jLnKPIXMWDuVNubhocc5dgc2WLOZ/RmiMRzUU8zLFSwtlRJFw9BOFevnDT0gj3KQtXdBHOdYXjGShc
RIVw9KucSahclQ/lHujlpp9yD+JyVY6UM1HL0We5CEc5ni5ybhG5ogdyH5/ctDLkXmVy9SDk7Ck5Vkgugg1yJKrg/FNwZYfgLn1w0+AEd5KD
q7gE53CDY5TBRUQEx6CqOU61Cofa2demUVO7kGvlS813a6SyFkGKGltFswPR6hNoLzlt2qF9IphWREJzQ2n8kBbhoNGtMFOcwqoVwh7Cw6af
sAc7rCoSZmLD6BiGRVSE8aE+9/QVOXwf+TftfK+wv3rJZ1M/NvCLeHwk18wXmpUbZhd+Ng2Z2VmeVZDMHKEzxjmLmJgxXJ5DyKto8E7em0bH
u5S9Monnh3okehEPj52S2SZZXYLsddm0I/vQsiKRucHKeMoiKmQ0VWeirhpC9/Bu+uke3FVHOlM7ml2Eo+OLc4W4osB9zk073MtcXTi7HEsu
ghyp5tPKYZdvOju9krkjF4LBAEAAQQSrhhC6B/6hm35C9xDj0FXHEjpTNXS0haGLqAgdL613LtG7ojK8+4S/mzbCvHvd7+oseWe/71gS30U8
3pEi1HT+0HTleJjuMp9uGjPTnePpKsIynWM6HSOE00VMTMeIljvHkLuKYHB3zt1NIz7uLmN35Shx50/dkYLoLuLhjmUo6eyTdHU+SPf6pZt2
RrpPsHRFtUjnUqXjRShdRIV0tFvtTEXtqhPaPQTfbvpp98AYt6sGaWdqtR1NbBdhinZ8FTt3iF1RhMDu87Ob9sPuFcyuLiPs7Co7dsgugg52
pFd0foWiK1OI7uJHN41OdOcdXUUp0Tmo0THM6CIiHNExXsU5WlRcBYXiTr+4adAUd7mLKzdIcT61OJJZXAQfxbGhiLNliLh6BeJec+Km9RD3
IRNXZCHOpZQ4PpC4CAdxdLQCZzoFrioMgXuoB276CdxDQxy4akngTNPA0S0GLqIicPzUObdE54oonPvMz00b5tyLfK4+cs7ue44tnot4nCN1
aji/aLjyw3AX+XDT8Ax3Bg9XYRnOQelwDGLxMJSd9KFsGh/KLp2hrGwPZf5lKCNRh7IIdihjhUOZPTGU1UOZsleRKZuWTNnHwZQV/abMrTFl
PMeURdimjL6YMhPVlFVZU/YgNGXThyl7oBLKqiyhzCQklNEPQllEXSjjeaHM9QhlRbdQ9ikRyqYVoezlCmX1QKHMDgplrIRQFvEqZSSiUuaT
SlnZoZRdwkvZNF7KTplSVnGXMkdJKWNUSlnEtJQxiKXMQZayCkcpO0ORsmkUKbsIkbLyAynz66SM1JOyiA8pY8ukzK5JWX2ElL2opGzakrLP
kJQVUZAyt0HK+KmgLKIoKKNLQZlpQlBWrQdlD31QNv0EZQ/loKwqDspMl6CMDgnKItygjA8MylwyKCtyBANlHzpl09ZQ9hoyZfUSymwJpYwN
pCyCD8pIngqZTxSych1CdvlDNg2ZkJ2uQ1ZBEjJH2ZAxzpBFRFSEjOGq6hxE1VWUQnXnX900wlR38V1dmaQ6v9PqSGd1EXRUx44UdXYRdXVp
oO4VTt20HOo+N3VFESTUuVOlji9SF2EK6miq0JkaKDTCh6taQxQY/DAx4ku1HVIwxBUoSMJf0xmTUNzAoERfRaUJdN4THBZ5iyWDxDKFCPJP
1SPEmmEDAgYUICCIMaJczxHkehURXO+Mu940xvUuYdcrh7ieH3U9UtD1Ihiux7Kknk2SenUGqffipd60I/U+tdQrqkg9Vyr1eKHUi3BIPdrV
eiZT61UntN7DvPWmn9Z7uFuvGqT1TKGtRxNbL6Ki9fgq1nOjWK8oiPU+DKw37Vnv1WG9upj1bAvrsVPWizhZj/RgPT9U1CsTRb1Lhag3jRD1
Tj7qVXSinkMc9RiWqBcxjXqMM+o5QkS9CqqidxYVvWlQ0bswFL1yX/R8maJHsotexKXosaFFzyYWvXpF0XtFFL1pi+h9hIhekQPRc3+ix4ch
ehFlokeHiZ6JQvSqUqL3YBK96YPoPYQK9KpFgZ4pKNCjGwK9CD/Q42cCPTc40CsiCfQ+IYHetA30XsJArz4R6NmhTo8tOr0I0umRGk7P90+v
/Dm9C/n0puHTOyunV+GenuM8PQbF6UVEnB6jNZQ5TENZBYIvqCIQMAaheED87AZijkQCicTHEjBh8vf//+87mj4ouElM+CQufFCXPUNMuKQu
fFAT5bBMuqCWfTPqT96Zp7s2/st0etcHwPlzbR/pIajPHu0WvqoZx+fYo3eE5f0i+XKHrJA6SAQyfjwfQY/i0e0YdaQcNY6/MdmoNSKNPaMg
I2NMMO5F7KK36CymFUFFmeKjGE+0iajEkKhGJBEjxAsi+NAe+g4Dh9xQa/gMEwz9QrCwKpQUcsIs4UQIENoH3cHcIDMoC56CIUEhiA6MBkqB
TGAOeALiAA2g/y/wj/0p/ma/1M/zQ/zqPmUf1pfp2/lQPovPwBfvkXvS3mUvrWf1cHqBnp7H5sXyhjw8nsRz4WXwvs7gcOcC7q/x23bhqAom
nIrzdV9YrCY21BSbc7nOQ0Dvn8d5OtOcdxyJ3JoduWqQPLXz1f92UbaDMYLD3WiCp2hNbgDwYq3lubOch4C3c6RvoSrukOzcxEFjbHgfIvkQ
7SVvA76fF6XzdYm3Xq/FCHmbJndMz3NVDwNO0/nRZQAcRaS7C+32mpCjVwoBuEthuRh/t2tlqLXU2+HP0AcihIBPp5T8N5K8Xe5yF3cv3C13
+WalyAoyf9pSAAAAUBgAAD4CAAA1ckZhIAAAAAAAAAAAAAAAAAAAAEQBAADRFwAAxAUAALtJJY2nQRtsE1pt9Ci1L/1g0RbVLQAqrBQTELAV
tAGAhwG1qZOSckuO4EYsASoBKgH0FTl8H/k37XyvsL96yWdTPzbwi3h8JNfMF5qVG2YXfjYNmdlZnlWQzByhM8Y5i5iYMVyeQ8iraPBO3ptG
x7uUvTKJ54d6JHoRD4+dktkmWV2C7HXZtCP70LIikbnBynjKIipkNFVnoq4aQvfwbvrpHtxVRzpTO5pdhKPji3OFuKLAfc5NO9zLXF04uxzL
RQRHmr/yLpvdq3lcjBFV5TmCqLyKCKG8M/7ypjFT3iXs8sohUp4fbXmkIMuLYDjKY1lFnk0i8uoMgbwXf/KmnSHvU5u8ooqQ50pLHi8keREO
CfJoVwXPZKLgVSeE4D3MH7zpZ4L3cDt41SASPFNog0cTGbyIikbw+Kq650bRvaKgcO/D8HvTfu69Or5XF8s929J77JQFCASBAYD3Is4ronDu
Mz83bZhzL/K5+sg5u+85tngu4nGO1Knh/KLhyg/DXeTDTcMz3Bk8XIVlOAelwzGIw0VMDMdoy5yjyFzFg7lTbm4aHHOXYHNlizmf0ZojEc1F
PMyxUsLZUSRcPQThXr5w09II9ykLV3QRznWF4xkoXESFcPSrnEmoXJUP5R7o5aafcg/iclWOlDNRy9FnuQhHOZ4ucm4RuaIHch+f3LQy5F5l
cvUg5OwpOVZILoINciSq4PxTcGWH4C59cNPgBHeSg6u4BOdwg2OUwUVEBMegqjlOtQqH2tnXplFTu5Br5UvNd2ukshZBihpbRbMD0eoTaC85
bdqhfSKYVkRCc0Np/JAW4aDRrTBTnMKqFcIewsOmn7AHO6wqEmZiw+gYhkVUhPGhPvcBHSlCTecPTVeOh+ku8+mmMTPdOZ6uIizTOabTMUI4
XcTEdIxouXMMuasIBnfn3N004uPuMnZXjhJ3/tQdKYjuIh7uWIaSzj5JV+eDdK9fumlnpPsES1dUi3QuVTpehNJFVEhHu9XOVNSuOqHdQ/Dt
pp92D4xxu2qQdqZW29HEdhGmaMdXsXOH2BVFCOw+P7tpP+xewezqMsLOrrJjh+wi6GBHekXnVyi6MoXoLn500+hEd97RVZQSnYMaHcOMLiLC
ER3jVZyjRcVVUCju9IubBk1xl7u4coMU51OLI5nFRfBRHBuKOFuGiKtXIO41J25aD3EfMnFFFuJcSonjA4mLcBBHRytwplPgqsIQuId64Kaf
wD00xIGrlgTONA0c3WLgIioCx0+dc0t0BpZVOBosO0PdsmnUWHYRsmXlB7HMr9cyUk/LIj5hGVsukdk1iaw+EkT2ol5k03ZE9hlaZEUUIjK3
wYqMn6LIIopCZHSpKjNNoMqq9VDZQ//Kpp+p7KHsyqpiqcx0aWV0CCuLcKMyPrAoc8mgrMgRDJR96JRNW0PZa8iU1UsosyWUMjaQsgg+KCN5
KmQ+UcjKdQjZ5Q/ZNGRCdroOWQVJyBxlQ8Y4QxYRUREyhquqcxBVV1EK1Z1/ddMIU93Fd3Vlkur8TqsjndVF0FEdO1LU2UXU1aWBulc4ddNy
qPvc1BVFkFDnTpU6vkhdhCmoo6lCZ2qg0FVDCN0D/9BNP6F7iHHoqmMJnakaOtrC0EVUhI6X1juX6F1RGd59wt9NG2Heve53dZa8s993LInv
Ih4PgYSoIQQIgkAs1569A5ErSEEKjQEiCJS4+fv//2/Ri1O1jOzy0aKidHfx69MHNccveMXygJsVYpp1dVH2G4iVM6Ux0SdkYfO+7xK+UdGf
8ELg4rmL7pRFzogJCuzTRGYQi30/HrlHqyPwRMsKvcMwKXKIAtZxPsRm6JIhS+iCCbyIW7yFQ+DRE7+1qzrnFijtQRhlDuAhdQAHBsaAPCzH
4IBGiWM4UEMEwREhWURI3WBuUh9zYypKwGyhKbTyYTzsIp9cUAGkXGfKalPWnLLy9Pqnru6zGJR1Qlk11CtESCoW8aX1NU/Vre9Prq/5iCn4
VVIAAACoDgAASQQAADqy2xOzCAAAAAAAANg5AAAAAAAARAEAAIcMAAA0AwAA31mEzy4a8Sy07IacKLUv/WCHC1UZAOpjRAsQsBW0AYCHAbWp
kzJpl0ZxRq8ArwCtADMjyF3RlODuEe5uhDXu3pLdlR/qzi9xFyQPd+SH7kKq2tlialefhnYversRkWn3mXC7Imo7izCkXXwq2pHFdmGhks40
gaQrqSDdg/zSjXxGuoeydCV1pTNdpAuzIR1poXTxUNFZIii6IpMRovvQoxuRmuheQ46uXo3ObpDoQkJER8YZXZCn2PlE7MriwO792Y2ww+5h
MbsilZ0pIeyCD3YkWWQXdAUGgCqZSUQAgSD0glJVnWmi6ooPoboHvboRfqp7ZVxd2W51/ivVBVFUR4awupBGUWcPh6irhwrUverUjQgNdR8H
U1f0lzpLCXXxmKCOtEld+K3QmYhCVxISQvfQeOhGTk/oHsihK4lq6EwlCV34IUJHFkMXj9c7i4feFd3h3af+bkQ6714Wv6uHvrMZ8i6kbLwj
X3wXRDWdH0TTlR3CdG/4dCP8TPfoeLri3enMkumC0piOHOF0QSo3wvGCj7JnBlLIXpEq2HvU7Y2Qxt4bwfbK8trzO2IvyA575Et7IUGqnk1B
9eoV6r3Ier0Rqan3KblekUPrWX6pFw8T9chivTBd4pmiJF5JJYj34Lh4IyeNeA+hLF5JVTwTScQLSwjxSJ/ixWcqPEswhVdEIbwP+/BGRCa8
V8Ph1Yeh4dmhJLyQivDIIIYXJKHo+T7RK38CvZdOb4Qeeg+p6RUtpWc+hF6Qgh5JngELsqo8k0TlFRlCeQ/+5Y1wpryXdnlltuX5FCkviBHl
kUGzvJCoIs8OIvLqEQJ5r/jJG5EZ8j5ik1ckLXmWipAXbwR5pFmSF3ZV8EwmCl7JhBC8h/mDN/KZ4D3cDl5JaINnCiLBC1NE8MiiMHjxqnsW
Ft0rIoV7nwi/NyKfey8Z36vXvWe7ci9kJO6RD94LOqPG80PReGWiMN5bH2+EYcZ7xD1eUabjmbWMF3RjPHICgMmoEJ6zZzPg5xAQAVH0ASCu
D1I5kNhEG/ZngUGVhPU5ju6ah1j42bv2NSU0Dfxzx061okoGw1e2tor+NHaBYKGia02/UkDMV7VMYfxME/kztwpIKUkAAAAAAAAAAAAAAFwX
JkIFAAAAAAAAAPoSFZo2wykaAAAAAAAAAAAgAAAAAAAAAIghAAAAAAAAkwgAAAAAAADYOQAAAAAAALMIAAAAAAAAqVEAAAAAAACPDgAAAAAA
AFFgAAAAAAAArw4AAAAAAABFAAAAAAAAAAAAAABKNTua+xEAAAAAAADYbAAAAAAAAAMAAAAAAAAAAgAAAAAAAABO+8VeZ010q6yrb3QFEnuY
""")


def first_version_stream():
    part = "".join(f"{i} mill {i * i}\n" for i in range(500))
    return (part + "".join(f"{i * 7} stone\n" for i in range(60)) + part + part[:5000] + part).encode()


def run(*words, **options):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, timeout=120, **options)


class Program(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        part = random.Random(1).randbytes(3_000_000)
        self.data = part + b"a line of text\n" * 100_000 + part
        self.input = self.folder / "in"
        self.input.write_bytes(self.data)
        self.archive = self.folder / "archive"

    def done(self, *words, **options):
        done = run(*words, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def refused(self, code, word, *words, **options):
        """Expect this exit code and one line that contains the word."""
        done = run(*words, **options)
        text = done.stderr.decode()
        self.assertEqual(done.returncode, code, text)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn(word, text)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())

    def test_files_are_packed_checked_and_restored(self):
        self.done("pack", self.input, self.archive)
        self.assertLess(self.archive.stat().st_size, 3_100_000)
        self.done("check", self.archive)
        self.done("unpack", self.archive, self.folder / "out")
        self.assertEqual((self.folder / "out").read_bytes(), self.data)
        self.assertEqual(self.names(), ["archive", "in", "out"])

    def test_folders_are_packed_as_the_stream_that_tar_makes_of_them(self):
        folder = self.folder / "-a folder"
        (folder / "sub").mkdir(parents=True)
        for name in "b", "a", "sub/c":
            (folder / name).write_bytes(random.Random(name).randbytes(100_000))
        (folder / "link").symlink_to("a")
        self.done("pack", "--", folder, self.archive)
        first = self.archive.read_bytes()
        self.done("pack", "-y", "--", str(folder) + "/", self.archive)
        self.assertEqual(self.archive.read_bytes(), first)
        there = self.folder / "there"
        there.mkdir()
        subprocess.run(["tar", "xf", "-", "-C", there], input=self.done("unpack", self.archive, "-").stdout, check=True)
        subprocess.run(["diff", "-r", folder, there / "-a folder"], check=True)
        self.assertTrue((there / "-a folder/link").is_symlink())
        self.refused(2, "is in the folder", "pack", "--", folder, folder / "archive")
        self.refused(2, "install tar", "pack", "--", folder, self.folder / "none", env={"PATH": "/nowhere"})
        self.assertFalse((self.folder / "none").exists())

    @unittest.skipUnless(os.geteuid() == 0, "SKIPPED: needs root, to become another user")
    def test_a_folder_that_cannot_be_read_as_a_whole_makes_no_archive(self):
        folder = self.folder / "folder"
        folder.mkdir()
        for path, mode in (self.folder, 0o777), (folder, 0o755):
            path.chmod(mode)
        (folder / "secret").write_bytes(b"x")
        (folder / "secret").chmod(0)
        done = run("pack", folder, self.archive, user=65534)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(b"could not be read completely", done.stderr)
        self.assertFalse(self.archive.exists())

    def test_zeros_that_are_restored_take_no_room(self):
        size, room = 300_000_000, 4_000_000
        with open(self.input, "wb") as file:
            file.write(b"begin")
            file.truncate(size)
        self.done("pack", self.input, self.archive)
        out, part = self.folder / "out", self.folder / "part"
        self.done("unpack", self.archive, out)
        self.done("unpack", self.archive, part, "--from", 10_000_000)
        self.assertEqual((out.stat().st_size, part.stat().st_size), (size, size - 10_000_000))
        with open(out, "rb") as file:
            self.assertEqual(file.read(10), b"begin" + bytes(5))
        subprocess.run(["cmp", self.input, out], check=True)
        if self.input.stat().st_blocks * 512 > room:
            self.skipTest("SKIPPED: this file system has no holes")
        self.assertLess(out.stat().st_blocks * 512, room)
        self.assertLess(part.stat().st_blocks * 512, room)

    def test_pipes_both_ways_carry_the_same_bytes_as_files(self):
        self.done("pack", self.input, self.archive)
        archive = self.done("pack", "-", "-", input=self.data).stdout
        self.assertEqual(archive, self.archive.read_bytes())
        self.assertEqual(self.done("unpack", "-", "-", input=archive).stdout, self.data)
        self.assertEqual(self.done("unpack", self.archive, "-").stdout, self.data)
        self.done("unpack", "-", self.folder / "out", input=archive)
        self.assertEqual((self.folder / "out").read_bytes(), self.data)
        self.done("check", "-", input=archive)

    def test_strategies_threads_tokens_and_memory_change_no_byte(self):
        archives = set()
        for strategy in "stealing", "pools", "oversubscribed", "collapsed", "tbb", "auto":
            for options in ("--threads", 1), ("--threads", 3, "--tokens", 2), ("--memory", "9M"):
                archives.add(self.done("pack", self.input, "-", "--window", "4M", "--strategy", strategy,
                                       *options).stdout)
        self.assertEqual(len(archives), 1)

    def test_near_copies_are_found_as_far_back_as_the_window(self):
        edited = bytearray(random.Random(3).randbytes(3_000_000))
        other = bytes(edited)
        edited[200::500] = bytes(len(edited[200::500]))
        near = self.folder / "near"
        near.write_bytes(other + edited + random.Random(4).randbytes(3_000_000) + other[:-1])
        sizes = {}
        for window in "0", "2M", "8M":
            self.done("pack", near, self.archive, "--window", window, "-y")
            sizes[window] = self.archive.stat().st_size
            self.assertEqual(self.done("unpack", self.archive, "-").stdout, near.read_bytes())
            at = 3_100_001
            part = self.done("unpack", self.archive, "-", "--from", at, "--bytes", 2000).stdout
            self.assertEqual(part, near.read_bytes()[at:at + 2000])
            self.done("check", self.archive, "--memory", "1M")
        self.assertGreater(sizes["0"], 8_900_000)
        self.assertGreater(sizes["2M"], 8_900_000)
        self.assertLess(sizes["8M"], 7_000_000)  # 6 MB, plus the data between marks and edits

    def test_archives_of_the_first_version_are_read(self):
        old, stream = self.folder / "old", first_version_stream()
        old.write_bytes(FIRST_VERSION)
        self.done("check", old)
        self.assertEqual(self.done("unpack", old, "-").stdout, stream)
        self.assertEqual(self.done("unpack", "-", "-", input=FIRST_VERSION).stdout, stream)
        self.done("unpack", old, self.folder / "out")
        self.assertEqual((self.folder / "out").read_bytes(), stream)
        for at, count in (0, 10), (7_000, 9_000), (20_000, 100_000):
            part = self.done("unpack", old, "-", "--from", at, "--bytes", count).stdout
            self.assertEqual(part, stream[at:at + count])
        report = json.loads(self.done("info", old, "--json", "-").stdout)
        self.assertEqual((report["format_version"], report["data_records"], report["references"]), (1, 3, 2))
        self.assertEqual(report["new_bytes"] + report["referenced_bytes"], len(stream))

    def test_every_compression_is_restored(self):
        sizes = {}
        for options in ("--compress", "none"), ("--compress", "zlib", "--level", 1), ("--level", 9), ("--chunk", "1K"):
            archive = self.done("pack", self.input, "-", *options).stdout
            self.assertEqual(self.done("unpack", "-", "-", input=archive).stdout, self.data)
            sizes[options[1]] = len(archive)
        self.assertLess(sizes["zlib"], sizes["none"])

    def test_several_writers_make_the_same_archive(self):
        self.done("pack", self.input, self.archive)
        for writers in 1, 4:
            for strategy in "stealing", "pools", "tbb":
                other = self.folder / f"{strategy}{writers}"
                self.done("pack", self.input, other, "--writers", writers, "--strategy", strategy)
                self.assertEqual(other.read_bytes(), self.archive.read_bytes())
        names = self.names()
        self.refused(2, "--writers 2: standard output is written in order", "pack", self.input, "-", "--writers", 2)
        self.refused(2, "is written in order", "pack", self.input, "/dev/null", "--writers", 2)
        self.assertEqual(self.names(), names)

    def test_any_part_is_restored_by_itself(self):
        self.done("pack", self.input, self.archive, "--chunk", "4K")
        size = len(self.data)
        for start, count in ((0, 1), (0, size), (2_999_999, 2), (3_000_000, 700_000), (4_600_000, 1_500_000),
                             (size - 5, 5), (size - 5, 100), (size, 10), (1_234_567, 0)):
            done = self.done("unpack", self.archive, "-", "--from", start, "--bytes", count)
            self.assertEqual(done.stdout, self.data[start:start + count], (start, count))
        self.assertEqual(self.done("unpack", self.archive, "-", "--from", size - 9).stdout, self.data[-9:])
        self.assertEqual(self.done("unpack", self.archive, "-", "--bytes", 9).stdout, self.data[:9])
        out = self.folder / "out"
        report = json.loads(self.done("unpack", self.archive, out, "--from", "4M", "--bytes", "1K", "--json", "-").stdout)
        self.assertEqual(out.read_bytes(), self.data[4 << 20:(4 << 20) + 1024])
        self.assertEqual((report["from"], report["bytes"], report["stream_bytes"]), (4 << 20, 1024, size))
        self.assertLess(report["records"], 5)

    def test_a_part_that_cannot_be_is_refused(self):
        self.data += random.Random(5).randbytes(6_000_000)  # independent of the rest
        self.input.write_bytes(self.data)
        self.done("pack", self.input, self.archive)
        self.refused(2, "so it has no byte", "unpack", self.archive, "-", "--from", len(self.data) + 1)
        self.refused(2, "give a file", "unpack", "-", "-", "--bytes", 1, input=self.archive.read_bytes())
        self.refused(1, "more than the limit of 10 bytes", "unpack", self.archive, "-", "--from", 5, "--limit", 10)
        self.refused(2, "--trace", "unpack", self.archive, "-", "--from", 5, "--trace", self.folder / "trace")
        damaged = bytearray(self.archive.read_bytes())
        damaged[1000] ^= 1
        broken = self.folder / "broken"
        broken.write_bytes(damaged)
        names = self.names()
        self.refused(1, "damaged at byte 32", "unpack", broken, self.folder / "out", "--bytes", 10)
        self.assertEqual(self.names(), names)
        # Undamaged parts are restored all the same.
        at = len(self.data) - 100
        self.assertEqual(self.done("unpack", broken, "-", "--from", at, "--bytes", 20).stdout, self.data[at:at + 20])

    def test_an_empty_input_is_an_archive_too(self):
        archive = self.done("pack", "-", "-", input=b"").stdout
        self.assertEqual(self.done("unpack", "-", "-", input=archive).stdout, b"")

    def test_the_report_says_what_was_done(self):
        trace = self.folder / "trace"
        done = self.done("pack", self.input, self.archive, "--json", "-", "--trace", trace, "-q")
        report = json.loads(done.stdout)
        self.assertEqual(done.stderr, b"")
        self.assertEqual(report["stream_bytes"], len(self.data))
        self.assertEqual(report["archive_bytes"], self.archive.stat().st_size)
        self.assertGreater(report["duplicate_bytes"], 2_800_000)
        stages = [stage["name"] for stage in report["run"]["stages"]]
        self.assertEqual(stages, ["read", "refine", "digest", "deduplicate", "compress", "write"])
        self.assertGreater(len(json.loads(trace.read_text())["traceEvents"]), 10)
        report = json.loads(self.done("unpack", self.archive, self.folder / "out", "--json", "-").stdout)
        self.assertEqual(report["stream_bytes"], len(self.data))
        self.assertGreater(report["references"], 0)
        self.assertEqual(report["verb"], "unpack")
        self.assertEqual(json.loads(self.done("check", self.archive, "--json", "-").stdout)["verb"], "check")
        summary = self.done("pack", self.input, "-").stderr.decode()
        self.assertIn("duplicates", summary)
        self.assertIn("compress", summary)

    def test_nothing_is_overwritten_unless_forced(self):
        self.archive.write_bytes(b"precious")
        self.refused(2, "archive: exists; give -y to overwrite it", "pack", self.input, self.archive)
        self.assertEqual(self.archive.read_bytes(), b"precious")
        self.done("pack", self.input, self.archive, "--force")
        self.refused(2, "in: exists; give -y", "unpack", self.archive, self.input)
        self.refused(2, "both IN and OUT", "pack", self.input, self.input, "--force")
        self.assertEqual(self.input.read_bytes(), self.data)
        # Reports are outputs too, so they are checked before the work.
        report = self.folder / "report"
        report.write_bytes(b"precious")
        for words in ("pack", self.input, "-"), ("unpack", self.archive, "-"), ("check", self.archive):
            for option in "--json", "--trace":
                self.refused(2, "report: exists; give -y", *words, option, report)
        self.refused(2, "report: exists; give -y", "info", self.archive, "--json", report)
        self.assertEqual(report.read_bytes(), b"precious")
        self.done("info", self.archive, "--json", report, "-y")
        self.assertEqual(json.loads(report.read_text())["stream_bytes"], len(self.data))

    def test_devices_pipes_and_open_files_do_not_exist_already(self):
        self.done("pack", self.input, "/dev/null", "--json", "/dev/null")
        with open(self.folder / "log", "wb") as log:
            log.write(b"before ")
            log.flush()
            subprocess.run([PROGRAM, "unpack", "-", "/dev/stdout", "-q"], stdout=log, timeout=60, check=True,
                           input=self.done("pack", "-", "-", input=b"after").stdout)
        self.assertEqual((self.folder / "log").read_bytes(), b"before after")

    def bomb(self):
        """An archive that expands about 1000 times."""
        zeros = self.folder / "zeros"
        with zeros.open("wb") as file:
            file.truncate(200 << 20)
        self.done("pack", zeros, self.archive)
        zeros.unlink()
        self.assertLess(self.archive.stat().st_size, 1 << 20)
        return self.archive

    def test_a_limit_bounds_what_a_bomb_restores(self):
        bomb, output = self.bomb(), self.folder / "out"
        for verb in ("unpack", bomb, output), ("unpack", bomb, "-"), ("check", bomb):
            self.refused(1, "restores 209715200 bytes, more than the limit of 10485760 bytes", *verb, "--limit", "10M")
        # The size of a pipe is unknown in advance, so the limit ends the run.
        packed = bomb.read_bytes()
        self.refused(1, "more than the limit of 10485760 bytes", "unpack", "-", output, "--limit", "10M", input=packed)
        done = run("unpack", "-", "-", "--limit", "10M", input=packed)
        self.assertEqual(done.returncode, 1)
        self.assertLessEqual(len(done.stdout), 10 << 20)
        self.assertEqual(done.stdout.count(0), len(done.stdout))
        self.assertEqual(self.names(), ["archive", "in"])
        self.done("unpack", bomb, output, "--limit", "200M")
        self.assertEqual(output.stat().st_size, 200 << 20)
        self.refused(2, "--limit", "unpack", bomb, "-", "--limit", "-1")

    def test_info_tells_what_an_archive_holds_without_restoring_it(self):
        bomb = self.bomb()
        report = json.loads(self.done("info", bomb, "--json", "-").stdout)
        self.assertEqual(report["stream_bytes"], 200 << 20)
        self.assertEqual(report["archive_bytes"], bomb.stat().st_size)
        self.assertEqual((report["method"], report["level"], report["format_version"]), ("zstd", 3, 2))
        self.assertEqual(report["new_bytes"] + report["referenced_bytes"], report["stream_bytes"])
        piped = json.loads(self.done("info", "-", "--json", "-", input=bomb.read_bytes()).stdout)
        self.assertEqual(piped, report)
        text = self.done("info", bomb).stdout.decode()
        self.assertIn("209715200 bytes", text)
        self.assertIn("version 2, zstd level 3", text)
        self.refused(1, "not an archive", "info", self.input)
        bomb.write_bytes(bomb.read_bytes()[:-1])
        self.refused(1, "cut off", "info", bomb)

    def test_a_file_size_limit_is_one_error_and_leaves_nothing(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        self.refused(1, "archive: cannot grow beyond 1048576 bytes", "pack", self.input, self.archive, "--compress",
                     "none", preexec_fn=limit)
        self.assertEqual(self.names(), ["in"])

    def test_names_are_shown_without_what_acts_on_a_terminal(self):
        evil = self.folder / "a\x1b[2Jb\nc\u202ed"
        self.refused(2, r"a\x1b[2Jb\x0ac\xe2\x80\xaed: no such file", "pack", evil, self.archive)
        evil.write_bytes(b"no archive, that is for sure: it is a text of some length")
        self.refused(1, r"a\x1b[2Jb\x0ac", "check", evil)
        self.refused(2, r"a\x1b[2Jb\x0ac", "pack", self.input, evil)
        self.refused(2, r"\x1b", "pack", self.input, self.archive, "--\x1b[2J")

    def test_bad_words_end_with_code_2_and_one_line(self):
        self.refused(2, "is in the folder", "pack", self.folder, self.archive)
        self.refused(2, "no such file", "pack", self.folder / "missing", self.archive)
        self.refused(2, "no folder", "pack", self.input, self.folder / "no" / "archive")
        self.refused(2, "lzma", "pack", self.input, self.archive, "--compress", "lzma")
        self.refused(2, "1 to 19", "pack", self.input, self.archive, "--level", "20")
        self.refused(2, "compression", "pack", self.input, self.archive, "--compress", "none", "--level", "3")
        self.refused(2, "power of two", "pack", self.input, self.archive, "--chunk", "1000")
        self.refused(2, "stealing", "pack", self.input, self.archive, "--strategy", "magic")
        self.refused(2, "threads", "pack", self.input, self.archive, "--threads", "0")
        self.refused(2, "tokens", "pack", self.input, self.archive, "--tokens", "0")
        self.refused(2, "memory", "pack", self.input, self.archive, "--memory", "5 apples")
        self.refused(2, "power of two", "pack", self.input, self.archive, "--window", "3M")
        self.refused(2, "power of two", "pack", self.input, self.archive, "--window", "2G")
        self.refused(2, "give --memory 134217728", "pack", self.input, self.archive, "--window", "64M", "--memory", "100M")
        self.refused(2, "standard output", "pack", self.input, "-", "--json", "-")
        for option in "--json", "--trace":
            self.refused(2, f"both IN and {option}", "pack", self.input, self.archive, option, self.input)
            self.refused(2, f"both OUT and {option}", "pack", self.input, self.archive, option, self.archive)
        self.refused(2, "ARCHIVE is missing", "check")
        self.assertEqual(self.names(), ["in"])

    def test_what_is_no_sound_archive_leaves_nothing(self):
        output = self.folder / "out"
        self.refused(1, "not an archive", "unpack", self.input, output)
        self.refused(1, "too short", "unpack", "-", output, input=b"")
        self.done("pack", self.input, self.archive)
        packed = bytearray(self.archive.read_bytes())
        self.archive.write_bytes(packed[:-1])
        self.refused(1, "cut off at byte", "unpack", self.archive, output)
        self.refused(1, "cut off at byte", "check", self.archive)
        packed[2_000_000] ^= 4
        self.archive.write_bytes(packed)
        self.refused(1, "damaged at byte 32 (record 0)", "unpack", self.archive, output)
        self.refused(1, "damaged at byte 32 (record 0)", "check", self.archive)
        self.assertEqual(self.names(), ["archive", "in"])

    def test_a_full_disk_is_one_error_and_leaves_nothing(self):
        self.refused(1, "no space left", "pack", self.input, "/dev/full")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([PROGRAM, "pack", self.input, "-"], stdout=full, stderr=subprocess.PIPE, timeout=60)
        self.assertEqual((done.returncode, done.stderr.count(b"\n")), (1, 1), done.stderr)
        small = self.folder / "small"
        small.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1M", "none", small], capture_output=True)
        if mounted.returncode != 0:
            self.skipTest("SKIPPED: no file system can be mounted here; /dev/full was tried")
        self.addCleanup(subprocess.run, ["umount", small], check=True)
        self.refused(1, "no space left after", "pack", self.input, small / "archive")
        self.done("pack", self.input, self.archive)
        # A file announces its unpacked size; a pipe does not.
        self.refused(1, "free; choose another place", "unpack", self.archive, small / "out")
        self.refused(1, "no space left after", "unpack", "-", small / "out", input=self.archive.read_bytes())
        self.refused(1, "temporary file", "check", "-", input=self.archive.read_bytes(),
                     env=os.environ | {"TMPDIR": str(small)})
        self.assertEqual(list(small.iterdir()), [])

    def test_a_reader_that_goes_away_is_one_error(self):
        with subprocess.Popen([PROGRAM, "pack", self.input, "-"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            child.stdout.close()
            text = child.stderr.read().decode()
            self.assertEqual(child.wait(timeout=60), 1)
        self.assertEqual(text.count("\n"), 1, text)
        self.assertIn("has ended", text)

    def feeding(self, *words):
        """A run whose standard input gives some data and then waits."""
        child = subprocess.Popen([PROGRAM, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        self.addCleanup(child.stdin.close)
        child.stdin.write(self.data)
        child.stdin.flush()
        return child

    def wait_until_writing(self, child):
        """Wait until the run has opened a file, named or unnamed, in the folder."""
        until = time.monotonic() + 30
        files = pathlib.Path(f"/proc/{child.pid}/fd")
        while time.monotonic() < until:
            for file in files.iterdir():
                try:
                    if os.readlink(file).startswith(str(self.folder)):
                        return
                except OSError:
                    pass  # closed in the meantime
            time.sleep(0.01)
        self.fail("the run has not begun to write")

    def test_an_interrupt_ends_promptly_and_leaves_nothing(self):
        for number in signal.SIGINT, signal.SIGTERM:
            child = self.feeding("pack", "-", self.archive)
            self.wait_until_writing(child)
            child.send_signal(number)
            self.assertEqual(child.wait(timeout=120), 128 + number)
            text = child.stderr.read().decode()
            self.assertEqual(text.count("\n"), 1, text)
            self.assertIn("interrupted after", text)
            self.assertEqual(self.names(), ["in"])

    def has_unnamed_files(self):
        try:
            os.close(os.open(self.folder, os.O_TMPFILE | os.O_RDWR, 0o600))
        except OSError:
            return False
        return True

    def test_a_killed_run_leaves_nothing(self):
        child = self.feeding("pack", "-", self.archive)
        self.wait_until_writing(child)
        child.kill()
        child.wait(timeout=120)
        if not self.has_unnamed_files():
            self.skipTest("SKIPPED: the file system of temporary files has no unnamed ones")
        self.assertEqual(self.names(), ["in"])

    def test_a_killed_run_leaves_what_it_was_to_replace(self):
        self.archive.write_bytes(b"precious")
        child = self.feeding("pack", "-", self.archive, "--force")
        self.wait_until_writing(child)
        child.kill()
        child.wait(timeout=120)
        self.assertEqual(self.archive.read_bytes(), b"precious")
        # Leftovers of the first run must not disturb the next one.
        self.done("pack", self.input, self.archive, "--force")
        self.done("check", self.archive)

    def test_a_named_pipe_is_waited_for_until_an_interrupt(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        child = subprocess.Popen([PROGRAM, "pack", pipe, self.archive], stderr=subprocess.PIPE)
        self.addCleanup(child.stderr.close)
        self.wait_until_writing(child)
        child.send_signal(signal.SIGINT)
        self.assertEqual(child.wait(timeout=120), 130)
        self.assertEqual(self.names(), ["in", "pipe"])
        child = subprocess.Popen([PROGRAM, "pack", pipe, self.archive, "-q"])
        pipe.write_bytes(self.data)
        self.assertEqual(child.wait(timeout=60), 0)
        self.assertEqual(self.done("unpack", self.archive, "-").stdout, self.data)

    def test_signals_that_are_ignored_stay_so(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        child = subprocess.Popen([PROGRAM, "pack", "-", self.archive, "-q"], stdin=subprocess.PIPE, preexec_fn=ignore)
        self.wait_until_writing(child)
        child.send_signal(signal.SIGHUP)
        child.communicate(self.data, timeout=60)
        self.assertEqual(child.returncode, 0)
        self.done("check", self.archive)

    @unittest.skipIf("MILLRACE_SANITIZED" in os.environ, "a sanitizer keeps memory of its own")
    def test_a_slow_reader_holds_the_memory_to_the_budget(self):
        budget = 24 << 20
        noise = self.folder / "noise"
        noise.write_bytes(random.Random(2).randbytes(60_000_000))
        with subprocess.Popen([PROGRAM, "pack", noise, "-", "--memory", str(budget), "-q"],
                              stdout=subprocess.PIPE) as child:
            time.sleep(1.5)  # the pipeline is full, because nobody reads
            status = pathlib.Path(f"/proc/{child.pid}/status").read_text()
            child.kill()
        peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
        # The program, its libraries and the compressor need memory outside the stream's budget.
        self.assertLess(peak, 1.2 * budget + (28 << 20))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
