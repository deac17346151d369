import struct
from pathlib import Path

import pytest

from herofilter.errors import MissingExtraError
from herofilter.report import canvas
from herofilter.report.picture import demo_picture
from herofilter.reproduce.studies.run import run_studies
from tests.report.results import demo_result


@pytest.mark.part("pictures")
def test_a_picture_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "demo.png"
    demo_picture(demo_result(), path)
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    assert struct.unpack(">II", content[16:24]) == (1300, 520)
    # nothing else is left in the folder
    assert [file.name for file in path.parent.iterdir()] == ["demo.png"]


@pytest.mark.part("pictures")
def test_something_is_drawn(tmp_path: Path) -> None:
    import matplotlib.image

    path = tmp_path / "demo.png"
    demo_picture(demo_result(), path)
    image = matplotlib.image.imread(path)[..., :3]
    for name, colour in {"gcn": (0xD1, 0x49, 0x5B), "herofilter": (0, 0x79, 0x8C)}.items():
        near = (abs(image * 255 - colour) < 6).all(axis=-1)
        # a line on either side: accuracy on the left, homophily on the right
        assert near[:, :650].sum() > 200, name
        assert near[:, 650:].sum() > 200, name


@pytest.mark.part("pictures")
def test_other_numbers_give_another_picture(tmp_path: Path) -> None:
    result = demo_result()
    demo_picture(result, tmp_path / "a.png")
    demo_picture(result, tmp_path / "same.png")
    result["levels"][0]["accuracy"]["herofilter"]["mean"] = 0.1
    demo_picture(result, tmp_path / "b.png")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "same.png").read_bytes()
    assert (tmp_path / "a.png").read_bytes() != (tmp_path / "b.png").read_bytes()


def test_without_matplotlib_the_part_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(canvas, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        demo_picture(demo_result(), tmp_path / "demo.png")
    assert str(caught.value) == (
        "drawing a picture needs the optional part 'pictures', which isn't installed; "
        'install it with: pip install "herofilter[pictures]"'
    )
    # before the tasks of a study, not after them
    with pytest.raises(MissingExtraError):
        run_studies(["proposition-1"], tmp_path / "studies", quick=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.part("pictures")
def test_a_failure_leaves_no_half_picture(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        demo_picture({"levels": [{"heterophily": 0.1}]}, tmp_path / "demo.png")
    assert list(tmp_path.iterdir()) == []
