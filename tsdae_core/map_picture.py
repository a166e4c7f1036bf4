"""A map as an image file, without a browser: colours, SVG as text, PNG by Pillow.

Legend: N points.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6bb1", "#a6761d")
"""Told apart by the colour-blind (Okabe-Ito, its yellow and black replaced, which a white ground or text would swallow)."""

GREY = "#8a939e"
VIRIDIS = ("#440154", "#472d7b", "#3b528b", "#2c728e", "#21918c", "#28ae80", "#5ec962", "#addc30", "#fde725")
CATEGORIES = 24
WIDTH, HEIGHT, LEGEND, MARGIN = 1600, 1200, 330, 40
FONTS = ("NotoSans-Regular.ttf", "DejaVuSans.ttf", "Arial.ttf", "Helvetica.ttc")


@dataclass(frozen=True)
class Colours:
    """A colour and a sign for each point, and what they mean.

    Attributes:
        of: (N,) a colour each, as "#rrggbb".
        signs: (N,) 0 circle, 1 diamond, 2 triangle: beyond eight categories colour alone does not tell them apart.
        legend: (text, colour, sign) from top to bottom.
        title: what a scale of numbers means; "" for categories.
    """

    of: list[str]
    signs: list[int]
    legend: list[tuple[str, str, int]]
    title: str = ""


def colours_of(
    values: Sequence[str] | np.ndarray,
    *,
    title: str = "",
    ends: tuple[float, float] = (0.0, 1.0),
    last: str = "",
) -> Colours:
    """Colours for categories (strings) or numbers.

    Args:
        values: N strings or a float array (N,); nan is grey.
        title: what the numbers mean.
        ends: the numbers that get the first and the last colour.
        last: a category that stands for none of the others: grey, and at the end.
    """
    if isinstance(values, np.ndarray):
        low, top = ends
        steps = np.clip((values - low) / (top - low), 0, 1) * (len(VIRIDIS) - 1)
        marks = np.linspace(low, top, len(VIRIDIS)).tolist()
        scale = [(f"{value:.3g}", colour, 0) for value, colour in zip(marks, VIRIDIS, strict=True)]
        shades = [GREY if np.isnan(step) else _between(step) for step in steps.tolist()]
        return Colours(shades, [0] * len(values), scale[::-1], title)
    counts = Counter(values)
    by_size = sorted(
        counts, key=lambda name: (-counts[name], "" if last else name)
    )  # labels of one size by name
    order = [name for name in by_size if name != last]
    shown = order if len(order) <= CATEGORIES else order[: CATEGORIES - 1]
    style = {name: (PALETTE[place % 8], place // 8) for place, name in enumerate(shown)}
    legend = [(_with_count(name, counts[name]), *style[name]) for name in shown]
    rest = sum(counts[name] for name in order[len(shown) :])
    if rest:
        legend.append((f"{len(order) - len(shown):,} others ({rest:,})", GREY, 0))
    if last and counts[last]:
        legend.append((_with_count(last, counts[last]), GREY, 0))
    chosen = [style.get(name, (GREY, 0)) for name in values]
    return Colours([colour for colour, _ in chosen], [sign for _, sign in chosen], legend)


def _between(step: float) -> str:
    low = min(int(step), len(VIRIDIS) - 2)
    first, second = (
        np.array([int(VIRIDIS[low + more][a : a + 2], 16) for a in (1, 3, 5)]) for more in (0, 1)
    )
    return "#" + "".join(f"{round(part):02x}" for part in first + (step - low) * (second - first))


def _pixels(xy: np.ndarray) -> np.ndarray:
    """Coordinates (N, 2) in [-1, 1] as pixels of the picture's drawing area; the axes mean nothing and are stretched."""
    wide, high = WIDTH - LEGEND - 2 * MARGIN, HEIGHT - 2 * MARGIN - 40
    low, high_end = xy.min(0), xy.max(0)
    share = (xy - low) / np.maximum(high_end - low, 1e-9)
    return np.stack([MARGIN + share[:, 0] * wide, MARGIN + 40 + (1 - share[:, 1]) * high], axis=1)


def _placed(names: list[dict[str, Any]], xy: np.ndarray) -> list[tuple[str, float, float]]:
    """Names of groups with the pixel of their middle, largest group first, without those that would cover another."""
    if not names:
        return []
    ends = np.concatenate([xy.min(0)[None], xy.max(0)[None]])
    spots = _pixels(np.concatenate([ends, np.array([[one["x"], one["y"]] for one in names], np.float32)]))[2:]
    kept: list[tuple[str, float, float]] = []
    for one, (x, y) in zip(names, spots.tolist(), strict=True):
        text = str(one["text"])
        half = 4.7 * len(text) + 8
        x = min(max(x, half), WIDTH - LEGEND - half)
        if all(abs(x - at) > half + 4.7 * len(other) + 8 or abs(y - row) > 26 for other, at, row in kept):
            kept.append((text, x, y))
    return kept


def _size(count: int) -> float:
    return 3.0 if count > 20_000 else 6.0 if count < 500 else 4.0


def _outline(x: float, y: float, size: float, sign: int) -> list[tuple[float, float]]:
    """Corners of a diamond or a triangle."""
    if sign == 1:
        return [(x, y - size * 1.3), (x + size * 1.3, y), (x, y + size * 1.3), (x - size * 1.3, y)]
    return [(x, y - size * 1.3), (x + size * 1.2, y + size), (x - size * 1.2, y + size)]


def svg(
    xy: np.ndarray, colours: Colours, names: list[dict[str, Any]], *, title: str, dark: bool = False
) -> bytes:
    """The map as SVG, every point a shape of its own, any text escaped; the rest as for `png`."""
    ground, ink = ("#0f172a", "#f1f5f9") if dark else ("#ffffff", "#0f172a")
    size = _size(len(xy))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">',
        f"<title>{_xml(title)}</title>",
        f'<rect width="100%" height="100%" fill="{ground}"/>',
        f'<text x="{MARGIN}" y="{MARGIN}" font-size="24" fill="{ink}">{_xml(title)}</text>',
        '<g fill-opacity="0.7">',
    ]
    for (x, y), colour, sign in zip(_pixels(xy).tolist(), colours.of, colours.signs, strict=True):
        parts.append(_shape(x, y, size, sign, colour))
    parts.append("</g>")
    for text, x, y in _placed(names, xy):
        parts.append(
            f'<text x="{x:.0f}" y="{y + 6:.0f}" font-size="17" text-anchor="middle" fill="{ink}" stroke="{ground}" '
            f'stroke-width="5" paint-order="stroke">{_xml(text)}</text>'
        )
    left, row = WIDTH - LEGEND, MARGIN + 46
    if colours.title:
        parts.append(
            f'<text x="{left}" y="{row - 24}" font-size="17" fill="{ink}">{_xml(colours.title)}</text>'
        )
    for text, colour, sign in colours.legend:
        parts.append(_shape(left + 8, row, 7, sign, colour))
        parts.append(
            f'<text x="{left + 24}" y="{row + 6}" font-size="17" fill="{ink}">{_xml(_short(text))}</text>'
        )
        row += 27
    return "\n".join([*parts, "</svg>"]).encode("utf-8")


def _shape(x: float, y: float, size: float, sign: int, colour: str) -> str:
    if not sign:
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" fill="{colour}"/>'
    corners = " ".join(f"{a:.1f},{b:.1f}" for a, b in _outline(x, y, size, sign))
    return f'<polygon points="{corners}" fill="{colour}"/>'


def _xml(text: str) -> str:
    """Escaped, and without the control characters that XML forbids."""
    return escape("".join(letter for letter in text if letter >= " "))


def _with_count(name: str, count: int) -> str:
    """A long name is cut, its count is not."""
    many = f" ({count:,})"
    return _short(name, 32 - len(many)) + many


def _short(text: str, most: int = 32) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def png(
    xy: np.ndarray, colours: Colours, names: list[dict[str, Any]], *, title: str, dark: bool = False
) -> bytes:
    """The map as PNG.

    Args:
        xy: (N, 2).
        colours: of each point.
        names: what is written on the groups: dicts of text, x, y.
        title: the line above.
        dark: light on dark.
    """
    from PIL import Image, ImageDraw  # noqa: PLC0415

    ground, ink = ("#0f172a", "#f1f5f9") if dark else ("#ffffff", "#0f172a")
    fine = 2  # drawn twice as large and made smaller, for smooth edges
    image = Image.new("RGB", (WIDTH * fine, HEIGHT * fine), ground)
    brush, size = ImageDraw.Draw(image, "RGBA"), _size(len(xy)) * fine
    for (x, y), colour, sign in zip((_pixels(xy) * fine).tolist(), colours.of, colours.signs, strict=True):
        _blot(brush, x, y, size, sign, f"{colour}b3")
    image = image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    brush = ImageDraw.Draw(image, "RGBA")
    brush.text((MARGIN, MARGIN), title, ink, _font(24), anchor="ls")
    for text, x, y in _placed(names, xy):
        brush.text((x, y), text, ink, _font(17), anchor="mm", stroke_width=3, stroke_fill=ground)
    left, row = WIDTH - LEGEND, MARGIN + 46
    if colours.title:
        brush.text((left, row - 30), colours.title, ink, _font(17), anchor="lm")
    for text, colour, sign in colours.legend:
        _blot(brush, left + 8, row, 7, sign, colour)
        brush.text((left + 24, row), _short(text), ink, _font(17), anchor="lm")
        row += 27
    file = io.BytesIO()
    image.save(file, "PNG", optimize=True)
    return file.getvalue()


def _blot(brush: Any, x: float, y: float, size: float, sign: int, colour: str) -> None:
    if sign:
        brush.polygon(_outline(x, y, size, sign), fill=colour)
    else:
        brush.ellipse((x - size, y - size, x + size, y + size), fill=colour)


def _font(size: int) -> Any:
    """A font of the machine that knows many scripts, else Pillow's own."""
    from PIL import ImageFont  # noqa: PLC0415

    for name in FONTS:
        try:
            return ImageFont.truetype(name, size)
        except OSError:
            continue
    return ImageFont.load_default(size)
