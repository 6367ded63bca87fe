"""Files reached by URL through fsspec, if it is installed: s3://, gs://, sftp://, ...

An input is fetched as a whole to the scratch folder of the job. An output is stored as a whole: it appears under
its name complete, or not at all.

Nodes call it as a program:  python -m millrace.cluster.remote fetch URL FILE...  |  store FILE URL...
"""

from __future__ import annotations

import os
import posixpath
import sys
import urllib.parse
import uuid
from typing import Any

from .._millrace import RunError, UsageError

# Stores in which an object appears only when complete, and in which renaming would copy it.
_OBJECT_STORES = frozenset("s3 s3a gs gcs az abfs abfss adl oss oci".split())


def is_url(name: str) -> bool:
    """Return whether a name is a URL. The name of an existing file is not."""
    scheme = name.split("://", 1)[0]
    return "://" in name and scheme.replace("+", "").replace("-", "").replace(":", "").isalnum() and not os.path.exists(name)


def name_of(url: str) -> str:
    """Return the file name: "a.mkv" for "https://host/films/a.mkv?key=x.y"."""
    first = url.split("::")[0]
    if first.startswith(("http://", "https://")):
        first = urllib.parse.urlsplit(first).path
    return posixpath.basename(first.rstrip("/"))


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


def _open(url: str) -> tuple[Any, str]:
    """Return the file system and the path in it."""
    try:
        import fsspec
    except ImportError:
        raise UsageError(f"{url}: takes fsspec; pip install fsspec, and what it needs for this kind of URL, as s3fs") from None
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{url}: {_one_line(error)}") from None
    if "memory" in _protocols(fs):
        raise UsageError(f"{url}: lies in the memory of this process, which the nodes are not; give another place")
    return fs, path


def _protocols(fs: Any) -> set[str]:
    return {fs.protocol} if isinstance(fs.protocol, str) else set(fs.protocol)


def size(url: str) -> int | None:
    """Return the size of a file, or None if it does not exist."""
    fs, path = _open(url)
    try:
        return int(fs.info(path)["size"] or 0) if fs.isfile(path) else None
    except Exception as error:  # file systems raise exceptions of many types
        raise RunError(f"{url}: {_one_line(error)}") from None


def exists(url: str) -> bool:
    return size(url) is not None


def is_folder(url: str) -> bool:
    fs, path = _open(url)
    try:
        return bool(fs.isdir(path))
    except Exception as error:
        raise RunError(f"{url}: {_one_line(error)}") from None


def files_below(url: str) -> list[tuple[str, str]]:
    """Return (URL, name below the folder) of all files in a folder and its subfolders."""
    if "::" in url:
        raise UsageError(f"{url}: of a URL in a URL only single files can be given")
    fs, path = _open(url)
    try:
        found = sorted(fs.find(path))
    except Exception as error:
        raise RunError(f"{url}: {_one_line(error)}") from None
    return [(fs.unstrip_protocol(each), posixpath.relpath(each, path)) for each in found]


def remove(url: str) -> None:
    fs, path = _open(url)
    try:
        fs.rm_file(path)
    except Exception as error:
        raise RunError(f"{url}: {_one_line(error)}") from None


def fetch(url: str, to: str) -> None:
    """Fetch a file. It appears under its name when complete."""
    fs, path = _open(url)
    part = f"{to}.{uuid.uuid4().hex[:8]}.part"
    try:
        fs.get_file(path, part)
        wanted = fs.info(path).get("size")
        if wanted is not None and os.path.getsize(part) != wanted:
            raise RunError(f"{url}: {os.path.getsize(part)} bytes came of {wanted}")
        os.replace(part, to)
    except (UsageError, RunError):
        raise
    except Exception as error:
        raise RunError(f"{url}: cannot be fetched: {_one_line(error)}") from None
    finally:
        if os.path.exists(part):
            os.unlink(part)


def store(file: str, url: str) -> None:
    """Store a file so that it appears complete. If the file system shows growing files, it is written under another
    name and renamed."""
    fs, path = _open(url)
    whole_at_once = bool(_protocols(fs) & _OBJECT_STORES)
    folder, name = posixpath.split(path)
    part = path if whole_at_once else posixpath.join(folder, f".{name}.{uuid.uuid4().hex[:8]}.part")
    try:
        if not whole_at_once:
            fs.makedirs(folder, exist_ok=True)
        try:
            fs.put_file(file, part)
            if fs.info(part)["size"] != os.path.getsize(file):
                raise RunError(f"{url}: holds not all that was written")
            if not whole_at_once:
                fs.mv(part, path)
        finally:
            if not whole_at_once and fs.exists(part):
                fs.rm_file(part)
    except RunError:
        raise
    except Exception as error:
        raise RunError(f"{url}: cannot be written: {_one_line(error)}") from None


def main(words: list[str]) -> int:
    """Run with pairs of words, from and to. If there are several, files that cannot be fetched are skipped, and the
    command that needs them reports them."""
    act = {"fetch": fetch, "store": store}[words[0]]
    codes = []
    for source, target in zip(words[1::2], words[2::2]):
        try:
            act(source, target)
            codes.append(0)
        except (UsageError, RunError) as error:
            print(f"millrace: {error}", file=sys.stderr)
            codes.append(2 if isinstance(error, UsageError) else 1)
    return min(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
