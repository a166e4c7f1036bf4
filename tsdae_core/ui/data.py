"""The Data tab: a file, pasted text or an example becomes the text to train on, and one sees what training will see."""

from __future__ import annotations

from typing import Any

import gradio as gr

from tsdae_core.config import describe
from tsdae_core.examples import EXAMPLES
from tsdae_core.ui import doors
from tsdae_core.ui.components import component
from tsdae_core.ui.data_events import wire
from tsdae_core.ui.shell import Shell
from tsdae_core.ui.texts import SHOWN

KINDS = [".txt", ".csv", ".tsv", ".jsonl", ".json", ".parquet", ".gz"]


def build(shell: Shell) -> None:
    gr.Markdown(
        "The sentences that the encoder learns from. They stay on this machine.", elem_classes=["lead"]
    )
    with gr.Row(elem_classes=["split"]):
        with gr.Column(scale=1, min_width=320, elem_classes=["side"]):
            asked = _doors()
        with gr.Column(scale=3, min_width=320, elem_classes=["main"]):
            shown = _result()
    wire(shell, asked, shown)


def _doors() -> dict[str, Any]:
    """The three doors and how the text behind them is read."""
    made: dict[str, Any] = {}
    with gr.Tabs(elem_id="doors"):
        with gr.Tab("Your file") as made["file_tab"]:
            made["file"] = gr.File(show_label=False, file_types=KINDS, height=116, elem_id="data-file")
            gr.Markdown(
                "One sentence per line or row: txt, csv, tsv, jsonl, json or parquet, also gzipped.",
                elem_classes=["quiet"],
            )
        with gr.Tab("Paste text") as made["text_tab"]:
            made["text"] = gr.Textbox(
                label="One sentence per line", lines=7, max_lines=14, elem_id="data-text"
            )
            made["paste"] = gr.Button("Read this text", elem_id="data-paste")
        with gr.Tab("Example") as made["example_tab"]:
            keys = [(example.title, key) for key, example in EXAMPLES.items()]
            made["example"] = gr.Radio(keys, value=keys[0][1], label="Example", elem_id="data-example")
            made["about"] = gr.Markdown(EXAMPLES[keys[0][1]].text, elem_classes=["quiet"])
            made["take"] = gr.Button("Load the example", elem_id="data-take")
    with gr.Column(visible=False, elem_classes=["columns"]) as made["columns"]:
        made["column"] = gr.Dropdown(label="Column with the sentences", elem_id="data-column")
        made["label"] = gr.Dropdown(
            label="Column with a label",
            info="Colours the map, judges the encoder; or the score of a pair",
            elem_id="data-label",
        )
        made["second"] = gr.Dropdown(
            label="Column with a second sentence",
            info="If rows are pairs, for supervised training; else none",
            elem_id="data-second",
        )
    with gr.Accordion("How the text is read", open=False, elem_id="data-reading") as made["reading"]:
        made["split"] = gr.Checkbox(
            False, label="Split into sentences", info="For a file whose lines are paragraphs"
        )
        made["shortest"] = gr.Number(
            doors.SHORTEST, label="Shortest, in words", precision=0, minimum=0, elem_id="data-shortest"
        )
        made["longest"] = gr.Number(
            doors.LONGEST, label="Longest, in characters", precision=0, minimum=1, elem_id="data-longest"
        )
    return made


def _result() -> dict[str, Any]:
    """What was read, its damage, its lengths and its rows."""
    made: dict[str, Any] = {}
    noise, ratio, longest = describe("noise"), describe("noise_ratio"), describe("max_length")
    with gr.Row(elem_classes=["headline"]):
        made["report"] = component("report", {}, uses=["dom"], elem_id="data-report")
        made["use"] = gr.Button(
            "Use this text", variant="primary", visible=False, scale=0, min_width=150, elem_id="data-use"
        )
    made["body"] = gr.Column(visible=False, elem_classes=["main"])
    with made["body"]:
        with gr.Row(elem_classes=["cards-row"]):
            with gr.Column(elem_classes=["card"], min_width=340):
                gr.Markdown("### What the encoder will see")
                with gr.Row(elem_classes=["card-inputs"]):
                    made["noise"] = gr.Dropdown(
                        noise.choices, value=noise.default, label=noise.label, min_width=130
                    )
                    made["ratio"] = gr.Slider(
                        ratio.min,
                        ratio.max,
                        value=ratio.default,
                        step=ratio.step,
                        label="Share of words",
                        min_width=200,
                        scale=2,
                    )
                made["seed"] = gr.State(0)
                made["damaged"] = component("noise", {}, uses=["dom", "words"], elem_id="data-damaged")
            with gr.Column(elem_classes=["card"], min_width=340):
                gr.Markdown("### Length in tokens")
                made["limit"] = gr.Slider(8, 512, value=longest.default, step=8, label=longest.label)
                made["lengths"] = component("lengths", {}, uses=["dom"], elem_id="data-lengths")
        gr.Markdown("Both are tried out here and set on the Train tab.", elem_classes=["quiet"])
        made["rows"] = gr.Dataframe(
            headers=["Line", "Sentence"],
            datatype="str",
            interactive=False,
            wrap=True,
            max_height=420,
            show_search="filter",
            label=f"Up to {SHOWN} rows, spread over the text",
            elem_id="data-rows",
        )
    return made
