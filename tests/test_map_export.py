"""A map to take along: a page that works alone, pictures, a table; and the command that makes them."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from tests.conftest import make_sentences
from tsdae_core.__main__ import main
from tsdae_core.encoders import load_encoder
from tsdae_core.map_export import FORMATS, colouring, ends_of, picture, save, to_csv, to_html
from tsdae_core.map_picture import CATEGORIES, GREY, colours_of
from tsdae_core.map_sheet import Layer, Sheet

HOSTILE = '</script><img src=x onerror="window.hit=1"> ${1} =1+1'
FORMULA = "=HYPERLINK(1)"


def make_sheet(count: int = 40, layers: int = 1) -> Sheet:
    """Random points; the first sentence and one label hostile, the second a spreadsheet's formula."""
    random = np.random.default_rng(0)
    sentences = [HOSTILE, FORMULA, *make_sentences(count - 2)]
    labels = ["<b>one" if row % 2 else "two" for row in range(count)]
    made = [
        Layer(
            title,
            random.uniform(-1, 1, (count, 2)).astype(np.float32),
            np.array([row % 3 - 1 for row in range(count)], np.int16),
            [{"text": "<i>boats", "x": 0.5, "y": 0.5}, {"text": "trains", "x": -0.5, "y": 0.1}],
            random.integers(0, count, (count, 5)),
            0.42,
            {"trust": random.uniform(0, 1, count).astype(np.float32)},
        )
        for title in ("Base", "Trained encoder")[:layers]
    ]
    return Sheet("notes", sentences, labels, list(range(1, count + 1)), 900, made)


def test_the_page_holds_everything_it_needs_and_no_sentence_can_leave_its_place() -> None:
    page = to_html(make_sheet(layers=2))
    held = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert held
    data = json.loads(held[1])
    assert data["sentences"][0] == HOSTILE
    assert [layer["title"] for layer in data["layers"]] == ["Base", "Trained encoder"]
    x = np.frombuffer(base64.b64decode(data["layers"][0]["x"]), np.float32)
    assert x.tolist() == make_sheet().layers[0].xy[:, 0].tolist()
    assert "onerror" not in page.replace(held[1], "").split('id="title"')[1].split("<script>")[0]
    assert not re.search(r'<(script|link|img)[^>]*(src|href)="', page)


def test_the_table_has_a_row_per_sentence_and_disarms_formulas() -> None:
    sheet = make_sheet(layers=2)
    rows = list(csv.DictReader(io.StringIO(to_csv(sheet))))
    assert len(rows) == 40
    assert rows[0]["sentence"] == HOSTILE
    assert rows[1]["sentence"] == f"'{FORMULA}"
    assert float(rows[5]["x_trained_encoder"]) == pytest.approx(float(sheet.layers[1].xy[5, 0]), abs=1e-4)
    assert [rows[row]["group_base"] for row in range(3)] == ["in no group", "<i>boats", "trains"]
    assert {"label", "line", "y_base", "trust_base"} <= set(rows[0])
    assert "x" in to_csv(make_sheet()).splitlines()[0].split(",")


@pytest.mark.parametrize("colour", ["", "cluster", "words", "trust"])
def test_the_drawing_shows_every_point_and_escapes_names(colour: str) -> None:
    root = ElementTree.fromstring(picture(make_sheet(), "svg", colour=colour))
    space = "{http://www.w3.org/2000/svg}"
    [group] = root.findall(f"{space}g")
    assert len(group) == 40
    texts = [node.text for node in root.iter(f"{space}text")]
    assert "<i>boats" in texts
    assert "notes, Base: 40 of 900 sentences" in texts


@pytest.mark.parametrize("dark", [False, True])
def test_the_picture_shows_points_in_their_colours(dark: bool) -> None:
    data = picture(make_sheet(), "png", dark=dark)
    image = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)
    assert image.shape == (1200, 1600, 3)
    blue, ground = np.array([0x00, 0x72, 0xB2]), image[0, 0]
    assert (np.abs(image - blue).sum(-1) < 40).sum() > 100
    assert (ground.sum() < 200) == dark


def test_many_categories_end_in_others_and_numbers_become_a_scale() -> None:
    named = colours_of([f"label {number % 40}" for number in range(400)])
    assert len(named.legend) == CATEGORIES
    assert named.legend[-1][0] == "17 others (170)"
    assert len({(colour, sign) for _, colour, sign in named.legend}) == CATEGORIES
    long = colours_of(["w" * 500] * 1234).legend[0][0]
    assert long.endswith("w… (1,234)") and len(long) == 32, "a long name hides no count"
    scaled = colours_of(np.array([0, 0.5, 1], np.float32), title="share")
    assert scaled.of[0] == "#440154"
    assert scaled.of[-1] == "#fde725"
    assert scaled.legend[0][0] == "1"


@pytest.mark.parametrize(
    ("column", "spread", "ends"),
    [
        ("loss", (3.0, 9.0), (0.0, 9.0)),  # nats: no share of anything
        ("drop", (-0.5, 1.5), (-0.5, 1.5)),  # what got worse is told from what stayed
        ("steady", (0.6, 0.8), (0.6, 0.8)),
        ("trust", (0.2, 0.6), (0.0, 1.0)),
        ("change", (0.2, 0.6), (0.0, 1.0)),
    ],
)
def test_a_column_of_numbers_has_a_scale_that_spans_it(
    column: str, spread: tuple[float, float], ends: tuple[float, float]
) -> None:
    values = np.append(np.linspace(*spread, 399), np.nan).astype(np.float32)
    assert ends_of(column, values) == pytest.approx(ends, abs=0.1)
    sheet = make_sheet(400)
    sheet.layers[0].more[column] = values
    colours = colouring(sheet, sheet.layers[0], column)
    assert colours.of[-1] == GREY, "what is not known has no place on the scale"
    assert float(colours.legend[0][0]) == pytest.approx(ends[1], abs=0.1)
    assert float(colours.legend[-1][0]) == pytest.approx(ends[0], abs=0.1)


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("map") / "notes.txt"
    file.write_text("\n".join([HOSTILE, *make_sentences(80)]), encoding="utf-8")
    return file


@pytest.mark.parametrize("kind", FORMATS)
def test_the_command_draws_a_file_by_any_encoder(
    kind: str, text: Path, tiny_model_folder: Path, tmp_path: Path, capsys: Any
) -> None:
    output = tmp_path / f"map{kind}"
    assert main(["map", str(tiny_model_folder), str(text), str(output), "--workspace", str(tmp_path)]) == 0
    assert "81 sentences" in capsys.readouterr().err
    assert output.stat().st_size > 2000
    if kind == ".csv":
        first = output.read_text(encoding="utf-8-sig")
        again = tmp_path / "again.csv"
        main(["map", str(tiny_model_folder), str(text), str(again), "--workspace", str(tmp_path)])
        assert again.read_text(encoding="utf-8-sig") == first


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("labelled") / "labelled.tsv"
    rows = [f"{sentence}\t{'ab'[place % 2]}" for place, sentence in enumerate(make_sentences(80))]
    file.write_text("\n".join(["sentence\tlabel", *rows]), encoding="utf-8")
    return file


@pytest.fixture
def drawn(labelled: Path, tiny_model_folder: Path, tmp_path: Path) -> Any:
    """`drawn("map.csv", "--axes", ...)`: the file that the command writes."""

    def draw(name: str, *options: str) -> str:
        command = ["map", str(tiny_model_folder), str(labelled), str(tmp_path / name), *options]
        assert main([*command, "--workspace", str(tmp_path)]) == 0
        return (tmp_path / name).read_text(encoding="utf-8-sig")

    return draw


def test_on_plain_axes_a_sentence_lies_where_its_cosines_to_the_phrases_are(
    drawn: Any, tiny_model_folder: Path, tmp_path: Path
) -> None:
    phrases = ["the red boat", "at night"]
    rows = list(csv.DictReader(io.StringIO(drawn("axes.csv", "--axes", *phrases))))
    encoder = load_encoder(str(tiny_model_folder), tmp_path)
    near = encoder.encode([row["sentence"] for row in rows]) @ encoder.encode(phrases).T
    placed = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    np.testing.assert_allclose(placed, near, atol=1e-4)
    texts = [node.text for node in ElementTree.fromstring(drawn("axes.svg", "--axes", *phrases)).iter()]
    assert any(
        'to the right the nearer to "the red boat", upwards to "at night"' in str(text) for text in texts
    )
    assert "a (40)" in texts, "coloured by the labels that the file has"
    assert "words" in drawn("axes.svg", "--axes", *phrases, "--colour", "words")


def test_a_map_in_space_has_a_third_column(drawn: Any) -> None:
    header, first, *_ = csv.reader(io.StringIO(drawn("space.csv", "--dimensions", "3")))
    assert header[3:7] == ["x", "y", "z", "group"]
    assert all(-1 <= float(number) <= 1 for number in first[3:6])


def test_a_picture_is_coloured_as_asked_and_names_leave_words_out(drawn: Any) -> None:
    assert ">true neighbours<" in drawn("map.svg", "--colour", "trust", "--dark")
    group = {row["group"] for row in csv.DictReader(io.StringIO(drawn("map.csv")))} - {"in no group"}
    words = sorted({word for name in group for word in name.split(", ")})
    again = {
        row["group"] for row in csv.DictReader(io.StringIO(drawn("less.csv", "--ignore", ",".join(words))))
    }
    assert words and not {word for name in again for word in name.split(", ")} & set(words)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{model}", "{text}", "map.html", "--colour", "words"], "for .png and .svg"),
        (["{model}", "{text}", "map.png", "--dimensions", "3"], "saved as .csv only"),
        (["{model}", "{text}", "map.html", "--axes", "a", "b"], "saved as .csv, .png or .svg"),
        (["{model}", "{text}", "map.csv", "--axes", "a", " "], "a phrase is missing"),
        (["{model}", "{text}", "map.png", "--axes", "a", "b", "--colour", "trust"], "have no groups"),
        (["{model}", "{text}", "map.pdf"], "must end in .html, .csv, .png or .svg; got map.pdf"),
        (["{model}", "{text}", "/no/such/folder/map.html"], "there is no folder /no/such/folder"),
        (["{model}", "map.html"], "has no text of its own"),
        (["/no/such/encoder", "{text}", "map.html"], "/no/such/encoder"),
        (["{model}", "/no/such/text.txt", "map.html"], "/no/such/text.txt"),
    ],
)
def test_wrong_input_is_one_sentence_and_exit_code_two(
    arguments: list[str], said: str, text: Path, tiny_model_folder: Path, tmp_path: Path, capsys: Any
) -> None:
    filled = [one.format(model=tiny_model_folder, text=text) for one in arguments]
    assert main(["map", *filled, "--workspace", str(tmp_path)]) == 2
    error = capsys.readouterr().err.strip()
    assert said in error
    assert "\n" not in error


def test_two_sentences_are_too_few(tiny_model_folder: Path, tmp_path: Path, capsys: Any) -> None:
    short = tmp_path / "short.txt"
    short.write_text("one sentence here\nanother sentence here\n", encoding="utf-8")
    assert main(["map", str(tiny_model_folder), str(short), str(tmp_path / "map.csv")]) == 2
    assert "at least three sentences" in capsys.readouterr().err


def test_the_format_is_the_files_ending(tmp_path: Path) -> None:
    save(make_sheet(), tmp_path / "map.CSV")
    assert (tmp_path / "map.CSV").read_bytes().startswith(b"\xef\xbb\xbf")
