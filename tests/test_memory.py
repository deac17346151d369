import pytest

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
