"""Which maps a run has, how far the newest is, and which one the page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tsdae_core.map_layout import MapOptions
from tsdae_core.map_systems import film_systems
from tsdae_core.runs import ACTIVE, Job, Run, find_run
from tsdae_core.ui.rebuild_models import can_rebuild, has_model
from tsdae_core.ui.warm import heavy


def systems_of_run(run: Run) -> dict[str, str]:
    """The encoders on the map of a run: the base, then the trained one as soon as there is one."""
    base = {"base": f"base:{run.name}"}
    return base | {"trained": run.name} if has_model(run) else base


def job_of(workspace: Path, run: Run, view: str = "flat") -> Job:
    """The map of the run as it is now, in one of `maps.VIEWS`."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415 (brings torch, which the page need not wait for)

    if view == maps.LIVE:
        return maps.live_job(run)
    options = MapOptions(dimensions=3 if view == maps.DEEP else 2)
    return maps.map_job(run, list(systems_of_run(run).values()), workspace, options=options)


def film_of(workspace: Path, run: Run) -> Job | None:
    """The film over the run's checkpoints as they are now; None when there are none before the trained encoder."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    systems = film_systems(run)
    return maps.map_job(run, systems, workspace) if has_model(run) and len(systems) > 2 else None


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


def state_of(workspace: Path, run: Run, view: str = "flat") -> dict[str, Any]:
    """How far the map is, and which map can be shown: the newest, or an older one until the newest has a picture.

    Args:
        view: one of `maps.VIEWS`.
    """
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    if view not in maps.VIEWS:
        raise ValueError(f"the view must be one of {', '.join(maps.VIEWS)}; got {view!r}")
    job, film = job_of(workspace, run, view), film_of(workspace, run) if view == maps.FLAT else None
    filmed = film is not None and film.state == "finished"
    working = film is not None and film.state in (*ACTIVE, "failed", "crashed")
    said = film.status() if film is not None and working else job.status()
    first = [film, job] if film is not None and filmed else [job]
    drawn = [one for one in [*first, *maps.map_jobs(run, view)] if maps.kind_of(one)]
    shown = drawn[0] if drawn else job
    facts = maps.facts_of(shown)
    layouts = [
        _frame(system)
        | {
            "kind": maps.kind_of(shown, place),
            "faithful": facts.get(f"faithful-{place}"),
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


def _frame(system: str) -> dict[str, str]:
    """How one encoder of a map is called."""
    if system.startswith("base:"):
        return {"which": "base", "title": "Base"}
    _, mark, step = system.rpartition("@")
    return (
        {"which": f"step-{step}", "title": f"Step {int(step):,}"}
        if mark
        else {"which": "trained", "title": "Trained"}
    )


def find_map(run: Run, key: Any) -> Job:
    """The run's map of that name. Raises `ValueError` when there is none."""
    heavy()
    from tsdae_core import maps  # noqa: PLC0415

    for job in maps.map_jobs(run):
        if job.name == key:
            return job
    raise ValueError("this map is gone; press Draw map")
