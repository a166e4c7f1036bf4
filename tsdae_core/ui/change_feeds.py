"""What changed most, group by group and through training: worked out in the background, told as far as it is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from tsdae_core.runs import Run
from tsdae_core.ui.indexes import Tell, comparing, shared
from tsdae_core.ui.own_text import Looked
from tsdae_core.ui.warm import heavy

BY = ("label", "cluster")


def grouped(workspace: Path, run: Run, before: str, after: str, *, looked: Looked, by: str) -> dict[str, Any]:
    """How far it is; or the groups, most changed first, how many sentences they hold together, and of how many.

    Raises:
        ValueError: when it is neither by label nor by cluster.
    """
    if by not in BY:
        raise ValueError(f"groups are by {' or '.join(BY)}; got {by!r}")
    compared = comparing(workspace, run, before, after, looked=looked)
    if not compared.finished.wait(0.2):
        return compared.far()
    rows, found = compared.result()
    from tsdae_core import change_groups, change_line, explore  # noqa: PLC0415 (brings torch)

    table = looked.table()
    k = found.before.shape[1]
    if by == "label":
        groups = change_groups.by_label(found, table["label"].take(rows).to_pylist())
        return _told(groups, len(rows), table.num_rows, nearest=k)
    print_of = explore.fingerprint(after, workspace)

    def work(tell: Tell) -> Any:
        texts = table["sentence"].take(rows).to_pylist()
        vectors = explore.embed(explore.load_encoder(after, workspace), texts, looked.cache_dir)
        drawn = change_line.drawn(len(texts), most=change_groups.MOST)
        groups, names = change_groups.cluster([texts[row] for row in drawn], vectors[drawn], told=tell)
        return drawn, groups, names

    done = shared(("clusters", print_of, *looked.edition), work, "Laying out the sentences")
    if not done.finished.wait(0.2):
        return done.far()
    drawn, groups, names = done.result()
    told = change_groups.by_group(found.part(drawn), groups, names)
    return _told(told, len(drawn), table.num_rows, nearest=k)


def _told(groups: list[Any], count: int, total: int, *, nearest: int) -> dict[str, Any]:
    return {"groups": [asdict(one) for one in groups], "count": count, "of": total, "nearest": nearest}


def moved(workspace: Path, run: Run, looked: Looked) -> dict[str, Any]:
    """How far it is, or what `change_line.over_training` found."""
    heavy()
    from tsdae_core import change_line, explore  # noqa: PLC0415

    systems = [system for _, system in change_line.states(run)]
    prints = tuple(explore.fingerprint(system, workspace) for system in systems)

    def work(tell: Tell) -> Any:
        return change_line.over_training(
            run, looked.table(), workspace=workspace, cache_dir=looked.cache_dir, told=tell
        )

    done = shared(("moved", *prints, *looked.edition), work, "Loading the encoders")
    return done.far() if not done.finished.wait(0.2) else done.result()
