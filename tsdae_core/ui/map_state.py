"""Which maps a run has, how far the newest is, and which one the page shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from tsdae_core.map_layout import MapOptions
from tsdae_core.map_systems import film_systems
from tsdae_core.runs import ACTIVE, Job, Run, find_run
from tsdae_core.ui.own_text import RUNS_OWN, Looked, looked_at, of_file
from tsdae_core.ui.rebuild_models import can_rebuild, has_model
from tsdae_core.ui.warm import heavy


@dataclass(frozen=True)
class Choice:
    """What is to be seen on the map of a run.

    Attributes:
        view: one of `maps.VIEWS`.
        key: the text, see `own_text.looked_at`; the live map is of the run's own whatever stands here.
        also: a further encoder, see `explore.load_encoder`; "" for none.
    """

    view: str = "flat"
    key: str = RUNS_OWN
    also: str = ""

    def text(self, workspace: Path, run: Run) -> Path | None:
        """The text to be drawn instead of the run's own. Raises `ValueError` when it is gone."""
        return looked_at(workspace, run, self.key).path if self.key else None


def systems_of_run(run: Run, also: str = "") -> list[str]:
    """The encoders on the map of a run: the base, the trained one as soon as there is one, and a further one."""
    own = [f"base:{run.name}", *([run.name] if has_model(run) else [])]
    return [*own, also] if also and also not in own else own


def job_of(workspace: Path, run: Run, choice: Choice) -> Job:
    """That map of the run as it is now. Raises `ValueError` when its text is gone or there is no such further encoder."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    if choice.view == maps.LIVE:
        return maps.live_job(run)
    options = MapOptions(dimensions=3 if choice.view == maps.DEEP else 2)
    systems, text = systems_of_run(run, choice.also), choice.text(workspace, run)
    return maps.map_job(run, systems, workspace, options=options, text=text)


def film_of(workspace: Path, run: Run, choice: Choice) -> Job | None:
    """The film over the run's checkpoints as they are now; None when there are none before the trained encoder, and
    with a further encoder.
    """
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    systems = film_systems(run)
    if choice.also or not has_model(run) or len(systems) <= 2:
        return None
    return maps.map_job(run, systems, workspace, text=choice.text(workspace, run))


def text_of(run: Run, job: Job) -> Looked:
    """The text that a map is of."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    text = maps.text_of(job)
    return Looked(run.corpus_path, run.cache_dir) if text is None else of_file(text, run)


def table(run: Run, job: Job) -> pa.Table:
    """All sentences that a map is of: columns sentence, line, label. Raises `ValueError` when its text is gone."""
    return _kept_table(job, text_of(run, job).edition)


@lru_cache(maxsize=4)
def _kept_table(job: Job, edition: tuple[Path, int]) -> pa.Table:
    from tsdae_core import maps  # noqa: PLC0415

    return maps.table_of(job)


def _same(choice: Choice, text: Path | None, run: Run, job: Job) -> bool:
    """Whether a map that was drawn earlier is of the text and has the further encoder that are to be seen."""
    from tsdae_core import maps  # noqa: PLC0415

    others = [one for one in maps.systems_of(job) if one not in systems_of_run(run)]
    others = [one for one in others if one == choice.also or not one.startswith(f"{run.name}@")]
    return maps.text_of(job) == (text and text.resolve()) and others == ([choice.also] if choice.also else [])


def shown_first(workspace: Path, name: str, view: str) -> str:
    """The view of a run that is chosen while another view is open: a training that is followed already is shown live, and a
    run without a live map is not.
    """
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    try:
        live = maps.live_job(find_run(workspace, name))
    except ValueError:
        return view if view != maps.LIVE else maps.FLAT
    if live.state in ACTIVE:
        return maps.LIVE
    return maps.FLAT if view == maps.LIVE and not maps.systems_of(live) else view


def state_of(workspace: Path, run: Run, choice: Choice) -> dict[str, Any]:
    """How far the map is, and which map can be shown: the newest, or an older one until the newest has a picture.

    Raises:
        ValueError: when the view is none of `maps.VIEWS`, the text is gone or there is no such further encoder.
    """
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    view = choice.view
    if view not in maps.VIEWS:
        raise ValueError(f"the view must be one of {', '.join(maps.VIEWS)}; got {view!r}")
    job, film = job_of(workspace, run, choice), film_of(workspace, run, choice) if view == maps.FLAT else None
    filmed = film is not None and film.state == "finished"
    working = film is not None and film.state in (*ACTIVE, "failed", "crashed")
    said = film.status() if film is not None and working else job.status()
    first = [film, job] if film is not None and filmed else [job]
    text = choice.text(workspace, run) if view != maps.LIVE else None
    earlier = [one for one in maps.map_jobs(run, view) if view == maps.LIVE or _same(choice, text, run, one)]
    drawn = [one for one in [*first, *earlier] if maps.kind_of(one)]
    shown = drawn[0] if drawn else job
    facts = maps.facts_of(shown)
    layouts = [
        _frame(system, run, choice.also)
        | {
            "kind": maps.kind_of(shown, place),
            "faithful": facts.get(f"faithful-{place}"),
            "trustworthy": facts.get(f"trustworthy-{place}"),
            "collapsed": facts.get(f"collapsed-{place}"),
        }
        for place, system in enumerate(maps.systems_of(shown))
    ]
    live = maps.live_job(run)
    return {key: said.get(key) for key in ("state", "phase", "step", "total", "error")} | {
        "map": shown.name if drawn else "",
        "stale": bool(drawn) and shown.name not in [one.name for one in first],
        "layouts": layouts,
        "points": facts.get("points"),
        "sentences": facts.get("total"),
        "trained": has_model(run),
        "decoder": can_rebuild(run),
        "first": run.checkpoints()[0].step if can_rebuild(run) and len(run.checkpoints()) > 1 else 0,
        "training": run.state in ACTIVE,
        "live": {"state": live.state, "frames": len(maps.systems_of(live))},
        "film": "done" if filmed else "possible" if film is not None else "",
    }


def _frame(system: str, run: Run, also: str) -> dict[str, str]:
    """How one encoder of a map is called."""
    if system == also:
        return {"which": "also", "title": system}
    if system == f"base:{run.name}":
        return {"which": "base", "title": "Base"}
    if system.startswith(f"{run.name}@"):
        step = system.rpartition("@")[2]
        return {"which": f"step-{step}", "title": f"Step {int(step):,}"}
    if system == run.name:
        return {"which": "trained", "title": "Trained"}
    return {"which": system, "title": system}


def find_map(run: Run, key: Any) -> Job:
    """The run's map of that name. Raises `ValueError` when there is none."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    for job in maps.map_jobs(run):
        if job.name == key:
            return job
    raise ValueError("this map is gone; press Draw map")
