"""Open the pages that specaudit writes in a real browser and look at them; started by `browser.sh`.

For each page, in light and dark, at 360 and 1440 pixels: nothing on the console, no request but the page itself, no
horizontal overflow, no violation of WCAG A and AA by axe-core, everything that can be used reached by the keyboard.
Screenshots and PDF files are kept.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from tests.render.pages import PAGES

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = (360, 1440)
SCHEMES = ("light", "dark")
THOROUGHLY = ("charts", "recorded")
"""Pages that are opened at each width in each scheme; of the others, the narrow one is light and the wide one dark."""

_SMALL = 2_000_000
"""Bytes of a page from which on it is only opened and looked at."""

_TALLEST = 12_000
"""Pixels of a page that are kept; a Chromium without a graphics card draws no more than 16,384 at once."""

HEIGHT = "() => document.documentElement.scrollHeight"

OVERFLOW = """() => {
  const width = document.documentElement.clientWidth;
  const inside = (element) => element.closest(".scroll") !== null;
  const wide = [...document.querySelectorAll("body *")].filter((element) =>
    !inside(element) && !element.classList.contains("skip") && element.getBoundingClientRect().right > width + 1);
  return {scrolls: document.documentElement.scrollWidth > width,
          wide: wide.slice(0, 5).map((element) => element.outerHTML.slice(0, 120))};
}"""

FOCUSABLE = """() => [...document.querySelectorAll("a[href], summary, input, [tabindex='0']")]
  .filter((element) => element.checkVisibility({visibilityProperty: true})).length"""

FOCUSED = """() => {
  const at = document.activeElement;
  if (at === document.body) return null;
  const style = getComputedStyle(at);
  const number = [...document.querySelectorAll("*")].indexOf(at);
  return {number, ring: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0};
}"""


def faults(browser: Browser, name: str, file: Path, axe: str, artifacts: Path) -> Iterator[str]:
    small = file.stat().st_size < _SMALL
    for number, scheme in list(enumerate(SCHEMES))[0 if small else 1 :]:
        for width in WIDTHS if name in THOROUGHLY else WIDTHS[number : number + 1]:
            where = f"{name}, {scheme}, {width} px"
            context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
            page = context.new_page()
            said: list[str] = []
            asked: list[str] = []
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("pageerror", lambda error, said=said: said.append(str(error)))
            page.on("dialog", lambda dialog, said=said: (said.append(f"dialog {dialog.message}"), dialog.dismiss()))
            page.on("request", lambda request, asked=asked: asked.append(request.url))
            began = time.perf_counter()
            page.goto(file.as_uri())
            page.wait_for_load_state("networkidle")
            print(f"{where}: open after {time.perf_counter() - began:.1f} s", flush=True)
            yield from (f"{where}: the console says {text!r}" for text in said)
            others = [url for url in asked if url != file.as_uri() and not url.startswith("data:")]
            yield from (f"{where}: asks for {url}" for url in others)
            if not small:
                page.screenshot(path=artifacts / f"{name}-{scheme}-{width}.png")
                context.close()
                continue
            overflow = page.evaluate(OVERFLOW)
            if overflow["scrolls"] or overflow["wide"]:
                yield f"{where}: overflows: {overflow['wide']}"
            if page.evaluate("() => window.hacked"):
                yield f"{where}: a script from a text ran"
            page.screenshot(
                path=artifacts / f"{name}-{scheme}-{width}.png",
                full_page=True,
                clip={"x": 0, "y": 0, "width": width, "height": min(_TALLEST, page.evaluate(HEIGHT))},
            )
            yield from (f"{where}: {fault}" for fault in by_axe(page, axe))
            if width == WIDTHS[-1]:
                yield from (f"{where}: {fault}" for fault in by_keyboard(page))
                page.pdf(path=artifacts / f"{name}.pdf", print_background=True)
            context.close()


def by_axe(page: Page, axe: str) -> Iterator[str]:
    """Every data table is opened first: what is hidden is not judged."""
    page.evaluate("() => document.querySelectorAll('details').forEach((data) => { data.open = true; })")
    page.evaluate(axe)  # not as an element of the page, which its policy forbids
    found: dict[str, Any] = page.evaluate(
        "() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']})"
    )
    for violation in found["violations"]:
        nodes = [node["html"][:140] for node in violation["nodes"][:3]]
        yield f"axe {violation['id']} ({violation['impact']}), {len(violation['nodes'])} times: {json.dumps(nodes)}"


def by_keyboard(page: Page) -> Iterator[str]:
    page.evaluate("() => document.querySelectorAll('details').forEach((data) => { data.open = false; })")
    page.evaluate("() => { document.activeElement.blur(); window.scrollTo(0, 0); }")
    wanted = page.evaluate(FOCUSABLE)
    reached: set[int] = set()
    for _ in range(min(wanted, 200) + 2):
        page.keyboard.press("Tab")
        at = page.evaluate(FOCUSED)
        if at is None:
            continue
        if not at["ring"]:
            yield "an element has the focus and does not show it"
        reached.add(at["number"])
    if len(reached) < min(wanted, 200):
        yield f"{len(reached)} of {wanted} elements are reached by the Tab key"
    if (box := page.locator(".filter input[type=search]")).count():
        box.fill("no such finding anywhere")
        if page.locator("article:visible").count():
            yield "the filter hides nothing"
        box.fill("")
        if not page.locator("article:visible").count():
            yield "the filter does not show findings again"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("chromium", "axe", "artifacts"):
        parser.add_argument(f"--{name}", required=True, type=Path)
    options = parser.parse_args()
    axe = options.axe.read_text(encoding="utf-8")
    found: list[str] = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        with playwright.chromium.launch_persistent_context(
            f"{scratch}/profile", executable_path=options.chromium, args=list(FLAGS), headless=True
        ) as first:
            first.close()
        browser = playwright.chromium.launch(executable_path=options.chromium, args=list(FLAGS), headless=True)
        for name, write in PAGES.items():
            file = Path(scratch, f"{name}.html")
            file.write_text(write(), encoding="utf-8")
            mine = list(faults(browser, name, file, axe, options.artifacts))
            print(f"{name}: {file.stat().st_size:,} bytes, {len(mine)} faults", *mine, sep="\n  ", flush=True)
            found += mine
        browser.close()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
