"""The page without a browser: its form, what it says of a run, what it refuses, and what it never serves."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import gradio as gr
import httpx
import pyarrow as pa
import pytest

import app as start
from tests.conftest import make_sentences
from tsdae_core.config import TrainConfig
from tsdae_core.runs import Run, create_run, list_runs
from tsdae_core.ui import LAUNCH, build_app, header, search, train, watch
from tsdae_core.ui.components import ASSETS, PLOTLY
from tsdae_core.ui.drafts import Draft, save_draft
from tsdae_core.ui.shell import Shell

ROOT = Path(__file__).parent.parent


def make_table(count: int) -> pa.Table:
    return pa.table({"sentence": make_sentences(count), "line": list(range(count)), "label": [""] * count})


@pytest.fixture
def draft(tmp_path: Path) -> Draft:
    return save_draft(tmp_path, make_table(1200), title="titles.txt")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return create_run(tmp_path, TrainConfig.from_preset("Quick look"), make_table(40), name="first")


def shell_of(workspace: Path, *, read_only: bool = False) -> Shell:
    """What a tab is given, as far as the functions below look at it."""
    with gr.Blocks() as page:
        return Shell(page, workspace, gr.Dropdown(), gr.Tabs(), read_only)


def quick() -> dict[str, object]:
    return TrainConfig.from_preset("Quick look").model_dump()


# ---- before the start


def test_without_a_text_the_start_is_off_and_says_why(tmp_path: Path) -> None:
    shown, button, _ = train.judge(shell_of(tmp_path), "", "Quick look", name="", values=quick())
    assert (button.interactive, shown["off"]) == (False, train.NO_TEXT)


def test_with_a_text_the_start_is_on_and_the_text_is_named(tmp_path: Path, draft: Draft) -> None:
    shown, button, _ = train.judge(shell_of(tmp_path), draft.key, "Quick look", name="", values=quick())
    assert (button.interactive, shown["off"]) == (True, "")
    assert shown["text"] == {"title": "titles.txt", "count": "1,200 sentences"}


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("", None),
        ("mine", None),
        ("first", "first-2"),
        ("My run: Köln", "My-run-K-ln"),
        ("日本", None),
        ("x" * 70, "x" * 60),
    ],
)
def test_a_name_that_is_changed_is_told_before_the_start(
    tmp_path: Path, draft: Draft, run: Run, name: str, called: str | None
) -> None:
    shown, _, _ = train.judge(shell_of(tmp_path), draft.key, "Quick look", name=name, values=quick())
    told = [one["text"] for one in shown["findings"] if "will be called" in one["text"]]
    if called:
        assert len(told) == 1 and told[0].startswith(f'The run will be called "{called}"')
        made = create_run(tmp_path, TrainConfig(), make_table(40), name=name)
        assert made.name == called
    elif name == "日本":
        assert len(told) == 1 and '"titles"' in told[0]
    else:
        assert not told


@pytest.mark.parametrize(
    "values", [{"batch_size": 0}, {"batch_size": None}, {"base_model": "/no/such/folder"}]
)
def test_an_impossible_setting_turns_the_start_off(
    tmp_path: Path, draft: Draft, values: dict[str, object]
) -> None:
    shown, button, _ = train.judge(
        shell_of(tmp_path), draft.key, "Quick look", name="", values=quick() | values
    )
    assert not button.interactive and shown["off"]
    with pytest.raises(ValueError, match=r"\w"):
        train.begin(shell_of(tmp_path), draft.key, quick() | values, name="", probes="")


def test_a_read_only_page_starts_and_changes_nothing(tmp_path: Path, draft: Draft, run: Run) -> None:
    shell = shell_of(tmp_path, read_only=True)
    assert not train.judge(shell, draft.key, "Quick look", name="", values=quick())[1].interactive
    with pytest.raises(ValueError, match="read-only"):
        train.begin(shell, draft.key, quick(), name="", probes="")
    for deed in (watch.launch.stop, watch.launch.start, watch.delete_run):
        with pytest.raises(gr.Error, match="read-only"):
            watch.act(shell, run.name, deed)
    assert run.state == "new" and not run.stop_requested()
    assert "read-only" in train.measured(shell, draft.key, quick())["error"]


@pytest.mark.parametrize("name", ["../first", "/etc", "", "none"])
def test_a_name_from_the_browser_is_only_looked_up(tmp_path: Path, run: Run, name: str) -> None:
    shell = shell_of(tmp_path / "inner")
    with pytest.raises(gr.Error, match="no run"):
        watch.act(shell, name, watch.delete_run)
    assert watch.log_tail(shell, [name]) == ""
    assert run.path.is_dir()


def test_deleting_the_shown_run_shows_the_newest_of_the_others(tmp_path: Path, run: Run) -> None:
    second = create_run(tmp_path, run.config(), make_table(40), name="second")
    picker, facts = watch.act(shell_of(tmp_path), second.name, watch.delete_run)
    assert (picker.value, facts["run"]) == (run.name, run.name)


# ---- what is said of a run


def test_the_picker_lists_runs_newest_first_with_their_state_in_words(tmp_path: Path, run: Run) -> None:
    second = create_run(tmp_path, run.config(), make_table(40), name="second")
    run.write_status(state="finished", created=1.0)
    second.write_status(state="failed", created=2.0)
    assert header.run_choices(list_runs(tmp_path)) == [
        ("second · failed", "second"),
        ("first · finished", "first"),
    ]
    assert header.run_choices(list_runs(tmp_path / "none")) == header.NO_RUN


def test_the_run_in_the_address_wins_if_it_exists() -> None:
    assert header.choose(["new", "old"], "old") == "old"
    assert header.choose(["new", "old"], "gone") == "new"
    assert header.choose([], "gone") == ""


def test_progress_never_says_all_before_the_run_does() -> None:
    assert header.percent("running", 999_999, 1_000_000) == 99
    assert header.percent("running", 1_000_000, 1_000_000) == 99
    assert header.percent("finished", 400, 1_000_000) == 100
    assert header.percent("starting", 0, 0) is None


def test_a_running_run_tells_rate_and_time_left_and_a_dead_one_how_to_go_on(run: Run) -> None:
    run.write_process(os.getpid(), [])
    run.write_status(
        state="running", step=300, total=600, eta=200.4, rate=63.24, device="cpu", precision="bf16"
    )
    facts = header.about(run, [])
    assert (facts["percent"], facts["rate"], facts["left"]) == (50, "63.2 sentences/s", "3 min 20 s left")
    assert (facts["steps"], facts["device"], facts["active"]) == ("step 300 of 600", "CPU, bf16", True)
    (run.path / "process.json").unlink()
    dead = header.about(run, [])
    assert (dead["word"], dead["active"], dead["resumable"]) == ("ended unexpectedly", False, True)
    assert dead["phase"] == "Ended unexpectedly at step 300" and not dead["left"] and not dead["rate"]


# ---- what the page never does


def test_no_event_of_the_page_is_a_public_endpoint(tmp_path: Path) -> None:
    page = build_app(tmp_path)
    public = [
        (one["api_name"], one["targets"])
        for one in page.config["dependencies"]
        if one["api_visibility"] != "private"
    ]
    assert public == []


def test_text_reaches_the_page_only_as_text() -> None:
    scripts = sorted((ASSETS / "js").glob("*.js"))
    assert scripts
    for script in scripts:
        code = script.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(", code), (
            script.name
        )


def test_templates_of_the_components_hold_no_value(tmp_path: Path) -> None:
    for block in build_app(tmp_path).blocks.values():
        if isinstance(block, gr.HTML) and block.html_template != "${value}":
            assert not re.search(r"[${}]", block.html_template)


def test_runs_cannot_be_fetched_as_files_and_plotly_can(tmp_path: Path, run: Run) -> None:
    page = build_app(tmp_path)
    _, address, _ = page.launch(
        prevent_thread_lock=True, quiet=True, blocked_paths=[str(tmp_path)], inbrowser=False, **LAUNCH
    )
    try:
        for path in (run.path / "config.json", run.corpus_path, ROOT / "app.py", Path("/etc/passwd")):
            assert httpx.get(f"{address}gradio_api/file={path}").status_code in (403, 404)
        assert httpx.get(f"{address}gradio_api/file={PLOTLY.as_posix()}").status_code == 200
        assert httpx.get(f"{address}gradio_api/runs").status_code == 404
    finally:
        page.close()


def test_the_first_page_does_not_wait_for_torch() -> None:
    code = "import sys, tsdae_core.ui; assert not {'torch', 'transformers', 'umap'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- starting


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--host", "0.0.0.0"], "--auth"),
        (["--share"], "--auth"),
        (["--auth", "nobody"], "USER:PASSWORD"),
        (["--port", "0"], "65535"),
        (["--port", "many"], "int"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_wrong_arguments_get_one_sentence_and_exit_code_2(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit) as ended:
        start.main(["--workspace", str(tmp_path), *arguments])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert word in said and said.count("\n") == 1


def test_a_port_in_use_is_told_in_one_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as ended:
            start.main(["--workspace", str(tmp_path), "--port", str(port)])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert str(port) in said and "another --port" in said and said.count("\n") == 1


def test_only_this_machine_counts_as_safe_without_a_login() -> None:
    assert all(start.is_loopback(host) for host in ("127.0.0.1", "::1", "localhost"))
    assert not any(start.is_loopback(host) for host in ("0.0.0.0", "::", "192.168.1.5", "example.org"))


def test_only_the_newest_search_of_a_browser_is_shown() -> None:
    first = search._newest("one", ("run", ""))
    other = search._newest("two", ("run", ""))
    assert first() and other()
    second = search._newest("one", ("run", ""))
    assert second() and other() and not first()


@pytest.mark.parametrize(
    ("steps", "first", "then"), [(60, 200, 20), (60, 60, 20), (700, 200, None), (None, 200, None)]
)
def test_fewer_steps_have_a_shorter_beginning(steps: int | None, first: int, then: int | None) -> None:
    made = train.shorter_beginning(steps, first)
    assert made == then if then is not None else made == gr.skip()
