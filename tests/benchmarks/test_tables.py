"""The benchmark of reading: both kinds of tables hold the same graph."""

from pathlib import Path

import pytest

from benchmarks import tables


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_tables_are_read_as_they_were_written(ending: str, tmp_path: Path) -> None:
    tables.write_tables(tmp_path, 300, 1500, ending)
    found = tables.measure(tmp_path, ending)
    assert found["nodes"] == 300
    # self-loops and duplicates are counted once, or not at all
    assert 1400 < found["edges"] <= 1500
    assert found["classes"] == 10
    assert found["features"] > 50
    assert found["peak_bytes"] >= found["peak_bytes_before"] > 0
