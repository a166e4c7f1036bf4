"""More than one run on the Train tab: what the values of a sweep come to, and where what is wrong with them stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_ui import make_table, quick, shell_of
from tsdae_core.ui import several
from tsdae_core.ui.drafts import save_draft


def texts(**given: str) -> list[str]:
    return [given.get(name, "") for name in several.VARIED]


def test_the_values_are_counted_and_a_doubling_size_ends_with_the_text() -> None:
    assert several.count_words(texts()) == ("", False)
    assert (
        several.count_words(texts(noise_ratio="0.3, 0.6", seed="1, 2"))[0]
        == "4 runs, one after the other, then a table."
    )
    said, good = several.count_words(texts(corpus_size="128..65536"), most=2700)
    assert good and said == (
        "5 runs, one after the other, then a table. The text has 2,700 sentences to train on, so the sizes end with 2,048."
    )
    assert (
        several.count_words(texts(corpus_size="128..65536"), most=70_000)[0]
        == "10 runs, one after the other, then a table."
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"corpus_size": "4000"}, "has 2,700 sentences to train on"),
        ({"corpus_size": "x"}, "'Sentences to train on (corpus size)' must be whole numbers"),
        ({"noise_ratio": "2"}, "'Words deleted' must be"),
        ({"seed": "x"}, "Seed"),
    ],
)
def test_a_wrong_value_is_said_and_makes_no_sweep(given: dict[str, str], said: str) -> None:
    words, good = several.count_words(texts(**given), most=2700)
    assert said in words and not good


def test_a_sweep_that_cannot_be_says_so_where_its_values_stand(tmp_path: Path) -> None:
    draft = save_draft(tmp_path, make_table(100), title="few.txt")
    with pytest.raises(ValueError, match="too small to set sentences aside"):
        several.start_sweep(
            shell_of(tmp_path), draft.key, "Quick look", values=quick(), texts=texts(seed="1, 2"), name=""
        )
    assert several.told("it is too small", wrong=True).elem_classes == ["sweep-wrong"]
    assert several.told("4 runs").elem_classes == ["quiet"]
