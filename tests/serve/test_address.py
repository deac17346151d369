"""Where the service listens, and what it needs before anything heavy is loaded."""

import pytest

from herofilter.errors import ConfigError, MissingExtraError
from herofilter.serve import Limits, address


def test_loopback_and_other_addresses() -> None:
    for host, loopback in (("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)):
        with address.bind_address(host, 0) as bound:
            assert address.is_loopback(bound) is loopback
            assert bound.getsockname()[1] > 0
    with address.bind_address("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        assert address.shown_url(bound) == f"http://127.0.0.1:{port}"


@pytest.mark.parametrize(
    ("host", "port", "sentence"),
    [
        ("127.0.0.1", 65536, r"port must be from 0 to 65535 \(got 65536\)"),
        ("127.0.0.1", -1, "port must be from 0 to 65535"),
        ("no.such.host.invalid", 0, "host must be a name or an address of this machine"),
        ("x" * 100, 0, "host must be a name or an address of this machine"),
        ("203.0.113.7", 0, "the address 203.0.113.7:0 must be free and of this machine"),
    ],
)
def test_wrong_addresses(host: str, port: int, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        address.bind_address(host, port)


def test_a_missing_extra_gives_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address.check_extra()
    monkeypatch.setattr(address, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r'pip install "herofilter\[serve\]"'):
        address.check_extra()


def test_limits_must_let_something_through() -> None:
    with pytest.raises(ConfigError, match=r"max_nodes must be at least 1 \(got 0\)"):
        Limits(max_nodes=0)
    with pytest.raises(ConfigError, match=r"max_bytes must be at least 1 \(got -1\)"):
        Limits(max_bytes=-1)
