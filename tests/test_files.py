"""Files are written whole or not at all, through links, and to devices and pipes as they are."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hardwood import InvalidInputError, load_model
from hardwood.files import read_text, write_whole

WRITE = "import sys; from hardwood.files import write_whole; print('before'); write_whole(sys.argv[1], 'content\\n')"


def run(code: str, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], text=True, timeout=120, **options)  # type: ignore[call-overload, no-any-return]


def litter(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if "hardwood" in entry.name)


def test_a_link_stays_and_its_target_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "model.json", tmp_path / "latest.json"
    target.write_text("old")
    link.symlink_to(Path("real") / "model.json")
    second = tmp_path / "again.json"
    second.symlink_to(link)
    write_whole(second, "new")
    assert (second.is_symlink(), link.is_symlink(), target.is_symlink()) == (True, True, False)
    assert target.read_text() == "new"
    assert litter(tmp_path) == litter(tmp_path / "real") == []


def test_a_link_to_nothing_makes_its_target_and_a_circle_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    write_whole(link, "new")
    assert (tmp_path / "target").read_text() == "new"
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).symlink_to(tmp_path / other)
    with pytest.raises(InvalidInputError, match="too many links"):
        write_whole(tmp_path / "a", "new")
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_is_written_to_where_it_goes(tmp_path: Path, name: str) -> None:
    before = os.lstat("/dev/stdout")
    assert run(WRITE, name, stdout=subprocess.PIPE).stdout == "before\ncontent\n"
    log = tmp_path / "log"
    log.write_text("first\n")
    with log.open("a") as stream:
        assert run(WRITE, name, stdout=stream).returncode == 0
    assert log.read_text() == "first\nbefore\ncontent\n"
    after = os.lstat("/dev/stdout")
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)


def test_devices_are_written_to_and_stay() -> None:
    before = os.stat("/dev/null")
    write_whole("/dev/null", "content")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert os.stat("/dev/null").st_ino == before.st_ino
    with pytest.raises(InvalidInputError, match="cannot write /dev/full: No space left"):
        write_whole("/dev/full", "content")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    assert litter(Path("/dev")) == []


def test_a_device_of_our_own_is_written_to(tmp_path: Path) -> None:
    device = tmp_path / "null"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        device.write_text("x")
    except OSError:
        pytest.skip("only root makes devices")
    write_whole(device, "content")
    assert stat.S_ISCHR(device.stat().st_mode)


def test_a_pipe_gets_the_content_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write_whole(pipe, "content" * 50_000)
    reader.join(60)
    assert got == [b"content" * 50_000]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="it is a folder"):
        write_whole(tmp_path, "content")
    with pytest.raises(InvalidInputError, match="Is a directory"):
        read_text(tmp_path, "model")


def test_permissions_stay(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_text("old")
    for mode in (0o600, 0o640, 0o755):
        path.chmod(mode)
        write_whole(path, "new")
        assert stat.S_IMODE(path.stat().st_mode) == mode
    if os.getuid() == 0:
        os.chown(path, 12345, 54321)
        write_whole(path, "newer")
        assert (path.stat().st_uid, path.stat().st_gid) == (12345, 54321)


def test_a_disk_that_fills_up_leaves_the_old_file_and_no_litter(tmp_path: Path) -> None:
    path = tmp_path / "precious"
    path.write_text("old")
    code = (
        "import resource, sys; from hardwood.files import write_whole; from hardwood import InvalidInputError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try: write_whole(sys.argv[1], 'x' * 100_000)\n"
        "except InvalidInputError as error: print(error)"
    )
    said = run(code, str(path), stdout=subprocess.PIPE).stdout
    assert said == f"cannot write {path}: File too large\n"
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["precious"]


def test_a_folder_or_file_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "closed"
    folder.mkdir()
    (folder / "old").write_text("old")
    (folder / "old").chmod(0o444)
    (tmp_path / "locked").write_text("old")
    (tmp_path / "locked").chmod(0o444)
    folder.chmod(0o555)
    tmp_path.chmod(0o777)
    code = (
        "import os, sys; from hardwood.files import write_whole; from hardwood import InvalidInputError\n"
        "if os.getuid() == 0: os.setuid(65534)\n"
        "for name in sys.argv[1:]:\n"
        "    try: write_whole(name, 'new')\n"
        "    except InvalidInputError as error: print(error)"
    )
    names = [str(folder / "new"), str(folder / "old"), str(tmp_path / "locked")]
    for parent in tmp_path.parents:
        if parent.stat().st_uid == os.getuid() and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    said = run(code, *names, stdout=subprocess.PIPE).stdout.splitlines()
    folder.chmod(0o755)
    assert said == [f"cannot write {name}: Permission denied" for name in names]
    assert (tmp_path / "locked").read_text() == "old"


@pytest.mark.parametrize("name", ["a\0b", "", "\ud800", 5, None])
def test_what_cannot_name_a_file_is_refused(name: object) -> None:
    with pytest.raises(InvalidInputError, match="cannot write"):
        write_whole(name, "content")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="cannot read model"):
        load_model(name)  # type: ignore[arg-type]


def test_a_name_as_long_as_names_can_be_is_written(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), "content")
    assert (tmp_path / ("n" * 255)).read_text() == "content"
    with pytest.raises(InvalidInputError, match="File name too long"):
        write_whole(tmp_path / ("n" * 256), "content")
    assert litter(tmp_path) == []


def test_text_is_read_with_and_without_a_mark_and_refused_in_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfgr\xc3\xbcn\r\n")
    assert read_text(path, "text") == "grün\n"
    for data in ("grün".encode("latin-1"), "grün".encode("utf-16"), b"\xff"):
        path.write_bytes(data)
        with pytest.raises(InvalidInputError, match="not UTF-8"):
            read_text(path, "text")
