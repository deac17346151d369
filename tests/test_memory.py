import subprocess
import sys

import pytest

from herofilter import memory
from herofilter.errors import OutOfMemoryError
from herofilter.memory import check_memory, format_bytes


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (5 * 2**29, "2.5 GiB"), (2**61, "2048 PiB")],
)
def test_format_bytes(count, text):
    assert format_bytes(count) == text


def test_check_memory_speaks_only_when_it_must():
    check_memory(1, "a byte", "take none")
    with pytest.raises(OutOfMemoryError, match=r"^everything needs 8 PiB \(.* are free\); stop$"):
        check_memory(2**53, "everything", "stop")


GROUPS = {
    # version 1, as a container sees it: the path is that of the host
    "v1": (
        "5:cpu,cpuacct:/x\n4:memory:/docker/abc\n0::/x\n",
        {
            "memory/memory.limit_in_bytes": "1000",
            "memory/memory.usage_in_bytes": "700",
            "memory/memory.stat": "cache 300\ntotal_inactive_file 200\n",
        },
        [500],
    ),
    # version 2: an inner group without a limit, and an outer one
    "v2": (
        "0::/outer/inner\n",
        {
            "outer/inner/memory.max": "max",
            "outer/inner/memory.current": "10",
            "outer/memory.max": "5000",
            "outer/memory.current": "1000",
            "outer/memory.stat": "anon 1\ninactive_file 100\n",
        },
        [4100],
    ),
    "none": ("", {}, []),
    "damaged": ("nonsense\n0::/a\n", {"a/memory.max": "many", "a/memory.current": "x"}, []),
}


@pytest.mark.parametrize("name", GROUPS)
def test_limits_of_control_groups(tmp_path, name):
    lines, files, expected = GROUPS[name]
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text(lines)
    for path, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert list(memory._group_room(tmp_path)) == expected


def test_a_control_group_limits_what_is_free(monkeypatch):
    monkeypatch.setattr(memory, "_group_room", lambda: iter([12345]))
    assert memory.free_memory() == 12345


LIMITED = """
import resource
from herofilter.memory import free_memory
before = free_memory()
resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
print(before > 2**30 or before, free_memory() < 2**30)
"""


def test_the_address_space_limits_what_is_free():
    told = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True)
    assert told.stdout.split()[-1] == "True", told
