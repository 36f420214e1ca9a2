"""Every form of exhibit is a drawing with a title, axes with units, a text alternative, and nothing outside of it."""

import math
import xml.etree.ElementTree as ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specaudit.model.exhibit import Column, Exhibit
from specaudit.render.charts.registry import DRAWINGS, draw
from specaudit.render.charts.scale import Scale, figure, fit
from tests.render.pages import exhibits, unusual

FORMS = sorted(DRAWINGS)
SHOWN = {exhibit.form: exhibit for exhibit in exhibits()} | {
    "path": Exhibit(
        title="Earned",
        form="path",
        columns=(
            Column(name="tokens", values=(0.0, 10.0, 20.0)),
            Column(name="e-value", values=(0.0, 1.5, None), unit="decimal logarithm"),
        ),
        rules={"threshold": 3.0},
    )
}


def parsed(exhibit: Exhibit) -> ElementTree.Element:
    return ElementTree.fromstring(str(draw(exhibit)))


def texts(drawing: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in drawing.iter("text")]


def test_every_form_is_shown_here() -> None:
    assert sorted(SHOWN) == FORMS == sorted(Exhibit.__annotations__["form"].__args__)


@pytest.mark.parametrize("form", FORMS)
def test_it_can_be_read_out(form: str) -> None:
    drawing = parsed(SHOWN[form])
    assert drawing.get("role") == "img"
    label = drawing.get("aria-label") or ""
    assert label.startswith(f"{SHOWN[form].title}. ")
    assert len(label) > len(SHOWN[form].title) + 20


@pytest.mark.parametrize("form", FORMS)
def test_axes_have_names_and_units(form: str) -> None:
    told = " ".join(texts(parsed(SHOWN[form])))
    units = [column.unit for column in SHOWN[form].columns if column.unit and column.name != "residual"]
    assert all(unit in told for unit in units)
    assert all(name in told for name in SHOWN[form].rules)


def inside(drawing: ElementTree.Element) -> None:
    _, _, width, height = map(float, (drawing.get("viewBox") or "").split())
    for element in drawing.iter():
        for name, most in (("x", width), ("x1", width), ("x2", width), ("cx", width)):
            assert -1 <= float(element.get(name, 0)) <= most + 1
        for name in ("y", "y1", "y2", "cy"):
            assert -1 <= float(element.get(name, 0)) <= height + 1
        for pair in element.get("points", "").split():
            x, y = map(float, pair.split(","))
            assert -1 <= x <= width + 1
            assert -1 <= y <= height + 1


@pytest.mark.parametrize("form", FORMS)
def test_nothing_stands_outside(form: str) -> None:
    inside(parsed(SHOWN[form]))


def test_a_value_beyond_its_rule_is_marked_and_one_below_is_not() -> None:
    marks = [circle.get("class") for circle in parsed(SHOWN["points"]).iter("circle")]
    gaps = [gap for gap in SHOWN["points"].columns[1].values if gap is not None]
    assert marks == ["mark bad" if gap > 2 else "mark" for gap in gaps]


def test_where_less_is_worse_the_other_side_is_marked() -> None:
    shown = msgspec.structs.replace(SHOWN["points"], marked="below")
    marks = [circle.get("class") for circle in parsed(shown).iter("circle")]
    gaps = [gap for gap in SHOWN["points"].columns[1].values if gap is not None]
    assert marks == ["mark bad" if gap < 2 else "mark" for gap in gaps]


def test_void_windows_are_shaded_and_their_values_are_not_drawn() -> None:
    drawing = parsed(SHOWN["windows"])
    assert sum(rect.get("class") == "void" for rect in drawing.iter("rect")) == 2 + 1  # two, and the legend's
    assert sum(1 for _ in drawing.iter("circle")) == 22 + 2


def test_without_any_row_there_is_no_drawing() -> None:
    assert draw(Exhibit(title="t", form="bars", columns=(Column(name="a", values=()),))) == ""


@pytest.mark.parametrize("exhibit", unusual().findings[0].exhibits, ids=lambda exhibit: exhibit.form)
def test_hostile_labels_are_texts(exhibit: Exhibit) -> None:
    from specaudit.render.printable import printable_record

    drawing = parsed(printable_record(exhibit))
    assert {element.tag for element in drawing.iter()} <= {"svg", "line", "rect", "circle", "polyline", "text"}
    names = {name for element in drawing.iter() for name in element.attrib}
    assert not any(name.startswith("on") or "href" in name or name == "style" for name in names)


figures = st.one_of(st.none(), st.floats(allow_nan=False, allow_infinity=False, min_value=-1e9, max_value=1e9))


@settings(max_examples=40, deadline=None)
@given(form=st.sampled_from(FORMS), rows=st.lists(st.tuples(figures, figures, figures), min_size=1, max_size=70))
def test_whatever_the_figures_everything_stays_inside(form: str, rows: list[tuple[float | None, ...]]) -> None:
    labels = Column(name="label", values=tuple(f"{i}" for i in range(len(rows))))
    numbers = tuple(Column(name=f"c{i}", values=column) for i, column in enumerate(zip(*rows, strict=True)))
    first = () if form in ("path", "points", "windows") else (labels,)
    inside(parsed(Exhibit(title="t", form=form, columns=(*first, *numbers), rules={"r": 1.0})))


@settings(max_examples=60, deadline=None)
@given(values=st.lists(figures, min_size=1))
def test_an_axis_holds_its_values_and_has_a_few_ticks(values: list[float | None]) -> None:
    axis = fit(values, 10, 400)
    known = [value for value in values if value is not None]
    air = 1e-9 * max(1.0, *map(abs, known)) if known else 0.0
    assert all(axis.low - air <= value <= axis.high + air for value in known)
    ticks = axis.ticks()
    assert len(ticks) <= 7
    assert all(math.isfinite(tick) for tick in ticks)
    assert len({figure(tick, ticks) for tick in ticks}) == len(ticks)


def test_ticks_are_round() -> None:
    assert Scale(low=0, high=1.04, start=0, end=100).ticks() == pytest.approx([0, 0.5, 1.0])
    assert [figure(tick, [0.0, 0.5, 1.0]) for tick in (0.0, 0.5, 1.0)] == ["0.0", "0.5", "1.0"]
    assert [figure(tick, [0.0, 5000.0]) for tick in (0.0, 5000.0)] == ["0", "5,000"]
