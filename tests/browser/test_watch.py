"""The live chart, the probe table and the rebuilt sentence in a real Chromium, over a run folder written by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import gradio as gr
import pyarrow as pa
import pytest

from tsdae_core.alignment import align, recovered_share, tokens_json
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run
from tsdae_core.ui.components import component
from tsdae_core.ui.feeds import feeds
from tsdae_core.ui.watch import CHART, WORDS

pytestmark = pytest.mark.browser
HOSTILE = "<img src=x onerror=window.hit=1> ${document.title} `code`"
NUMBERS = {
    "written": 0.312, "written_shuffled": 0.04, "bits": 16.34, "mrr": 0.834, "effective_rank": 112.4,
    "mean_cosine": 0.118, "uniformity": -2.91,
}  # fmt: skip
SHOWN = "document.querySelector('#chart .watch-plot')"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    corpus = pa.table({"sentence": ["a b"], "line": pa.array([1], pa.int64()), "label": [""]})
    run = create_run(tmp_path_factory.mktemp("watch"), TrainConfig(), corpus, name="watched")
    run.write_process(os.getpid(), ["this test"])
    run.write_status(state="running", step=0, total=1000, phase="Training")
    return run


def write(run: Run, steps: range) -> None:
    """A row per step; at every tenth a look, where one more word comes back."""
    for step in steps:
        run.append_metrics({"step": step, "loss": 8 - step / 200, "lr": 1e-5})
        if step % 10 == 0:
            run.append_metrics({"step": step, "held_out": 8 - step / 200, "shuffled": 8.0} | NUMBERS)
            run.append_samples({"step": step, "sentences": [look(step)]})
        if step % 50 == 0:
            run.append_metrics({"step": step, "event": "checkpoint", "text": "Checkpoint"})


def look(step: int) -> dict[str, Any]:
    words = HOSTILE.split()
    gone = set(range(len(words) - 1))
    rebuilt = words[: step // 10] or ["the"]
    states, no_glue = align(words, gone, rebuilt), [False] * len(words)
    original = tokens_json(
        words, ["deleted" if place in gone else "kept" for place in range(len(words))], no_glue
    )
    for place, token in enumerate(original):
        token["w"] = place
    return {
        "original": original,
        "damaged": tokens_json(words[-1:], ["kept"], [False]),
        "rebuilt": tokens_json(rebuilt, states, no_glue[: len(rebuilt)]),
        "text": " ".join(rebuilt),
        "source": HOSTILE,
        "loss": 2.0,
        "recovered": recovered_share(words, gone, states),
        "exact": rebuilt == words,
    }


@pytest.fixture(scope="module")
def address(run: Run, serve: Callable[..., str]) -> str:
    metrics, samples = feeds(run.path.parent)
    with gr.Blocks() as page:
        component("chart", "watched", uses=CHART, server_functions=[metrics], elem_id="chart")
        component("probes", "watched", uses=WORDS, server_functions=[samples], elem_id="probes")
        shown = {"sentence": look(30), "message": "", "note": ""}
        tokens = component("tokens", shown, uses=WORDS, elem_id="tokens")
        said = gr.Textbox(elem_id="said")

        def on_word(event: gr.EventData) -> str:
            return str(event._data["deleted"])

        tokens.toggle(on_word, None, said)
    return serve(page)


@pytest.fixture
def page(address: str, open_page: Callable[..., Any]) -> Any:
    return open_page(address, width=1200, height=1400)


@pytest.fixture(autouse=True)
def from_the_start(run: Run) -> None:
    run.cut_after(0)
    write(run, range(1, 31))


def wait_for_step(page: Any, step: int) -> None:
    page.wait_for_function(f"{SHOWN}?.data?.[0]?.x.at(-1) === {step}")


def test_new_points_arrive_without_remounting_the_chart(page: Any, run: Run):
    wait_for_step(page, 30)
    page.evaluate(f"window.before = {SHOWN}.querySelector('.main-svg')")
    write(run, range(31, 61))
    wait_for_step(page, 60)
    assert page.evaluate(f"window.before === {SHOWN}.querySelector('.main-svg')")
    assert page.evaluate(f"{SHOWN}.data.map(line => line.name)")[:4] == [
        "each step", "training", "another sentence's vector", "held-out",
    ]  # fmt: skip
    assert page.evaluate(f"{SHOWN}.layout.annotations.map(mark => mark.text)") == ["checkpoint"]


def test_the_numbers_begin_with_what_the_vector_carries_and_none_stands_alone(page: Any):
    wait_for_step(page, 30)
    facts = [text.replace("\n", " ") for text in page.locator("#chart .watch-fact").all_inner_texts()]
    assert facts[0] == "Words rebuilt from the vector: 31 % (with another sentence's vector 4 %)"
    assert facts[1] == "Held-out loss: 7.85 (perplexity 2,566; with another sentence's vector 2,981)"
    assert facts[2].startswith("Training loss: 7.8") and "(perplexity 2," in facts[2]
    health = page.locator("#chart .watch-health")
    assert health.locator(".watch-small").all_inner_texts() == [
        "0.83 finds the sentence from its damaged form", "16.3 bits saved per sentence", "112 directions used",
        "0.12 mean cosine", "−2.91 uniformity",
    ]  # fmt: skip
    assert not health.locator("dd").first.is_visible()
    health.locator("summary").press("Enter")
    assert "Mean reciprocal rank" in health.locator("dd").first.inner_text()


def test_vectors_that_fall_together_are_told_until_they_recover(page: Any, run: Run):
    wait_for_step(page, 30)
    alarm = page.locator("#chart [role=alert]")
    assert not alarm.is_visible()
    run.append_metrics({"step": 31, "held_out": 7.0, "warning": "The vectors have collapsed. Stop."})
    alarm.wait_for(state="visible")
    assert alarm.inner_text() == "The vectors have collapsed. Stop."
    run.append_metrics({"step": 32, "held_out": 7.0})
    alarm.wait_for(state="hidden")


def test_a_zoom_stays_while_points_arrive_until_the_chart_follows_again(page: Any, run: Run):
    wait_for_step(page, 30)
    box = page.locator("#chart .nsewdrag").first.bounding_box()
    page.mouse.move(box["x"] + 100, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 400, box["y"] + 200, steps=4)
    page.mouse.up()
    follow = page.get_by_role("button", name="Follow")
    page.wait_for_function("document.querySelector('#chart [aria-pressed=\"false\"]')")
    zoomed = page.evaluate(f"{SHOWN}.layout.xaxis.range")
    write(run, range(31, 61))
    page.wait_for_function("document.querySelector('#probes output')?.textContent === 'step 60'")
    assert page.evaluate(f"{SHOWN}.layout.xaxis.range") == zoomed
    follow.click()
    wait_for_step(page, 60)
    assert page.evaluate(f"{SHOWN}.layout.xaxis.range[1] >= 60")


def test_a_run_that_was_cut_and_went_on_has_one_curve(page: Any, run: Run):
    wait_for_step(page, 30)
    run.cut_after(10)
    write(run, range(11, 81))
    wait_for_step(page, 80)
    steps = page.evaluate(f"{SHOWN}.data[0].x")
    assert steps == list(range(1, 81))


def test_the_slider_follows_the_newest_look_until_it_is_moved(page: Any, run: Run):
    slider, where = page.locator("#probes input[type=range]"), page.locator("#probes output")
    page.wait_for_function("document.querySelector('#probes output')?.textContent === 'step 30'")
    slider.press("ArrowLeft")
    assert where.inner_text() == "step 20"
    assert page.locator("#probes table .tok-recovered").count() == 2
    write(run, range(31, 41))
    page.wait_for_function("document.querySelector('#probes input')?.max === '3'")
    assert where.inner_text() == "step 20"
    page.get_by_role("button", name="Newest").click()
    assert where.inner_text() == "step 40"


def test_hostile_text_is_shown_as_text(page: Any):
    page.wait_for_selector("#probes tbody .tok-line")
    page.wait_for_selector("#tokens .tok-word")
    for place in ("#probes", "#tokens"):
        assert "onerror=window.hit=1>" in page.locator(place).inner_text()
        assert "${document.title}" in page.locator(place).inner_text()
    assert page.locator("#probes img, #tokens img").count() == 0


def test_pressing_a_word_asks_for_the_words_deleted_by_hand(page: Any):
    words = page.locator("#tokens .tok-word")
    words.nth(1).click()
    assert words.nth(1).get_attribute("aria-pressed") == "false"
    page.wait_for_function("document.querySelector('#said textarea, #said input').value === '[0, 2, 3]'")
