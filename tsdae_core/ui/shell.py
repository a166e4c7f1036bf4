"""What the tabs share: the page, the workspace, the run picker, the loaded text and the base model chosen for it. Nothing else
travels between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}
"""Options of events that answer at once."""

LIGHT: dict[str, Any] = QUIET | {"queue": False}
"""Options of events that answer so fast, or come so often, that they need no place in the queue."""

FOLLOW: dict[str, Any] = QUIET | {"trigger_mode": "always_last"}
"""Options of events that follow the run picker and the page's load: one that comes while another is on its way waits for
its answer, and sees it."""


class Picker(gr.Dropdown):
    """A dropdown whose value is taken as the browser sends it.

    The list of runs changes while events of the old list are on their way; Gradio would refuse them with an error.
    Whoever uses the value looks it up with `find_run`.
    """

    is_template = True

    def preprocess(self, payload: Any) -> str:
        """The chosen run's name; "" for anything that is none."""
        return payload if isinstance(payload, str) else ""


@dataclass(frozen=True)
class Shell:
    """What a tab's `build` is given.

    Attributes:
        app: the page.
        workspace: the folder of all runs.
        picker: the run shown on every tab; its value is a run's name, or "" when there is none.
        tabs: to go to another tab: `gr.Tabs(selected="train")`.
        read_only: nothing may be started, stopped or deleted.
        draft: the key of the text loaded on the Data tab, kept by the browser; "" when there is none.
        base: the base model chosen on the Train tab, whose tokenizer counts the text's tokens.
        own: the key of the file that was uploaded last to be searched, kept by the browser; "" when there is none.
        facts: the header's component; its value is `header.about` of the run.
    """

    app: gr.Blocks
    workspace: Path
    picker: gr.Dropdown
    tabs: gr.Tabs
    read_only: bool = False
    draft: Any = None
    facts: Any = None
    base: Any = None
    own: Any = None
