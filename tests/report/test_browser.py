"""The report in a real browser: nothing fails to load, nothing is cut off, colours follow the reader's scheme."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from panelake.report.assets import chart_script_path
from panelake.report.build import build_report

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
DESKTOP, PHONE = (1280, 900), (360, 780)

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: install the package chromium to draw the report"),
]


@contextmanager
def opened_tab(profile: Path) -> Iterator[ClientConnection]:
    """A tab of a headless Chromium, which ends with it."""
    with (profile.parent / "chromium.log").open("w") as log:
        command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        address = debugging_address(process, profile / "DevToolsActivePort")
        with connect(f"ws://{address[0]}{address[1]}", proxy=None) as root:
            root.send(json.dumps({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}))
            target = json.loads(root.recv(60))["result"]["targetId"]
        with connect(f"ws://{address[0]}/devtools/page/{target}", proxy=None, max_size=None) as tab:
            yield tab
    finally:
        process.terminate()
        process.wait(20)


def debugging_address(process: subprocess.Popen[bytes], port_file: Path) -> tuple[str, str]:
    """Host with port, and path, once Chromium wrote them down."""
    deadline = time.monotonic() + 60
    while not (port_file.is_file() and "\n" in port_file.read_text()):
        assert process.poll() is None, "Chromium ended"
        assert time.monotonic() < deadline, "Chromium did not open its port"
        time.sleep(0.05)
    port, path = port_file.read_text().split("\n")
    return f"127.0.0.1:{port}", path


class Browser:
    """One tab, spoken to by the DevTools protocol."""

    def __init__(self, tab: ClientConnection) -> None:
        self._tab = tab
        self._asked = 0
        self.events: list[dict[str, Any]] = []
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command; events that come before its answer are kept."""
        self._asked += 1
        self._tab.send(json.dumps({"id": self._asked, "method": method, "params": parameters}))
        while True:
            message: dict[str, Any] = json.loads(self._tab.recv(60))
            if message.get("id") == self._asked:
                assert "error" not in message, message
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def open(self, page: Path, size: tuple[int, int], scheme: str = "light", *, draws: bool = True) -> None:
        """Show a page of that size to a reader who prefers that scheme."""
        width, height = size
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=size == PHONE
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=page.as_uri())
        deadline = time.monotonic() + 60
        while self.ask("document.readyState") != "complete" or self.ask("location.href") != page.as_uri():
            assert time.monotonic() < deadline, f"{page} did not load"
            time.sleep(0.05)
        if draws:
            self.until("[...document.querySelectorAll('figure[data-chart] .plot')].every(one => one.firstChild)")

    def ask(self, expression: str) -> Any:
        """The value of a script's expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        code = {"Tab": 9, "Enter": 13, "End": 35, "ArrowLeft": 37, "ArrowRight": 39, "ArrowDown": 40}[key]
        for kind in ("keyDown", "keyUp"):
            extra = {"text": text} if text else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **extra)

    def tab_to(self, reached: str) -> None:
        """Press the tab key until the expression is true."""
        for _ in range(60):
            self.press("Tab")
            if self.ask(reached):
                return
        pytest.fail(f"the keyboard does not reach: {reached}")

    def until(self, expression: str) -> None:
        """Wait until the page says so."""
        deadline = time.monotonic() + 30
        while not self.ask(expression):
            assert time.monotonic() < deadline, expression
            time.sleep(0.05)

    def screenshot(self, target: Path) -> None:
        shot = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        target.write_bytes(base64.b64decode(shot["data"]))

    def requests(self) -> list[str]:
        """The addresses the page asked for."""
        asked = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in asked]

    def complaints(self) -> list[str]:
        """What the browser logged: refused styles, errors, dialogs."""
        kinds = {
            "Log.entryAdded",
            "Runtime.exceptionThrown",
            "Runtime.consoleAPICalled",
            "Page.javascriptDialogOpening",
        }
        return [json.dumps(event) for event in self.events if event["method"] in kinds]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened_tab(tmp_path_factory.mktemp("chromium") / "profile") as tab:
        yield Browser(tab)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, new_world: Any) -> Path:
    world = new_world(tmp_path_factory.mktemp("site") / "town & <country>")
    places = [place for place in range(120) if place not in (60, 90, 91)]
    world.record(places, refused=[25, 100])
    world.publish(range(100, 120))
    world.quarantine(119, '{"area": "<script>alert(9)</script>"}')
    return Path(build_report(world.context, 1_767_272_400_000_000).path).parent


REFUSED = "slice/20260101T082000Z-20260101T082500Z.html"
CHARTED = ("index.html", "query/speeds.html", "stream/traffic.html")
PAGES = (*CHARTED, "docs/papers.html", REFUSED)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_page_loads_alone_and_fits_its_width(browser: Browser, site: Path, page: str, size: tuple[int, int]) -> None:
    browser.open(site / page, size)
    script = [(site / chart_script_path()).as_uri()] if page in CHARTED else []
    asked = [address for address in browser.requests() if not address.startswith("data:image/png")]
    assert asked == [(site / page).as_uri(), *script], "the page and its own script are asked for alone"
    drawn = browser.ask(
        "[...document.querySelectorAll('figure[data-chart]')].map(one => !!one.querySelector('.plot svg'))"
    )
    assert drawn == [True] * len(drawn)
    assert bool(drawn) == (page in CHARTED)
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= size[0], "nothing lies beyond the right edge"
    assert browser.ask(LOST_CHARTS) == [], "no chart lies beyond its card"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(browser: Browser, site: Path, page: str, scheme: str) -> None:
    browser.open(site / page, DESKTOP, scheme)
    assert (browser.ask(LUMINANCE_OF_PAGE) < 0.2) == (scheme == "dark")
    assert browser.ask(FAINT_TEXT) == []


def test_lines_of_a_chart_differ_in_colour_and_dash_and_break_at_gaps(browser: Browser, site: Path) -> None:
    for scheme in ("light", "dark"):
        browser.open(site / "index.html", DESKTOP, scheme)
        styles = browser.ask(
            f"{LINES_OF_SECONDS}.map(getComputedStyle).map(style => [style.stroke, style.strokeDasharray])"
        )
        assert len({colour for colour, _ in styles}) == len(styles) == 6
        assert len({dash for _, dash in styles}) >= 5
    strokes = browser.ask(
        f"{LINES_OF_SECONDS}.map(line => line.querySelector('path').getAttribute('d').split('M').length - 1)"
    )
    assert strokes == [3] * 6, "the two gaps part each line in three"


def test_text_in_charts_is_large_enough_and_stands_out(browser: Browser, site: Path) -> None:
    for scheme in ("light", "dark"):
        browser.open(site / "index.html", PHONE, scheme)
        sizes = browser.ask(
            "[...document.querySelectorAll('.plot svg text')].map(one => parseFloat(getComputedStyle(one).fontSize))"
        )
        assert min(sizes) >= 12
        contrasts = browser.ask(CONTRASTS_IN_CHARTS)
        assert len(contrasts) > 50
        assert min(contrasts) >= 4.5


def test_a_chart_follows_the_width_of_its_card(browser: Browser, site: Path) -> None:
    widths = []
    browser.open(site / "index.html", DESKTOP)
    for width in (1280, 700, 360):
        browser.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        browser.until(f"{CARD_IS_FILLED}")
        widths.append(browser.ask("document.querySelector('.chart .plot svg').getBoundingClientRect().width"))
    assert widths[1] != widths[0] > widths[2] > 250


def test_the_arrow_keys_read_a_chart_place_by_place(browser: Browser, site: Path) -> None:
    browser.open(site / "query/speeds.html", DESKTOP)
    browser.tab_to("document.activeElement.matches('.chart .plot svg')")
    label = browser.ask("document.activeElement.getAttribute('aria-label')")
    assert label.startswith("cars, 2026-01-01 08:21 to 2026-01-01 10:00"), label
    browser.press("End")
    browser.press("ArrowLeft")
    heard = browser.ask("document.querySelector('.chart [aria-live]').textContent")
    assert heard.startswith("2026-01-01 09:59, <script>alert(1)</script>: 75, north: 73, ")
    tip = browser.ask("document.querySelector('.chart .plot svg [aria-label=tip]').textContent")
    assert all(part in tip for part in heard.split(", ")), "what is heard is seen"
    assert browser.complaints() == []


def test_the_keyboard_reaches_a_slice_and_opens_it(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", DESKTOP)
    browser.tab_to("!!document.activeElement.closest('.squares')")
    assert browser.ask("document.activeElement.getAttribute('aria-label')") == "2026-01-01 09:55, whole slice: ✓ passed"
    for key in ("ArrowLeft", "ArrowLeft", "ArrowDown"):
        browser.press(key)
    assert browser.ask("document.activeElement.getAttribute('aria-label')").startswith(
        "2026-01-01 09:45, bronze/traffic: "
    )
    drawn = browser.ask("parseFloat(getComputedStyle(document.activeElement.querySelector('rect')).strokeWidth)")
    assert drawn >= 2, "one sees where one is"
    browser.press("Enter", text="\r")
    browser.until("location.href.endsWith('slice/20260101T094500Z-20260101T095000Z.html')")
    assert browser.ask("document.querySelector('h1').innerText").startswith("Slice 2026-01-01 09:45")


def test_squares_tell_verdicts_by_colour_and_by_sign(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", DESKTOP)
    squares = browser.ask(
        "[...document.querySelectorAll('.squares rect')]"
        ".map(one => [one.textContent.split(': ')[1], getComputedStyle(one).fill])"
    )
    fills = {kind: {fill for other, fill in squares if other == kind} for kind, _ in squares}
    assert set(fills) == {"✓ passed", "! warned", "✗ refused", "missing"}
    assert len({fill for found in fills.values() for fill in found}) == 4
    kinds = [kind for kind, _ in squares]
    signs = browser.ask("[...document.querySelectorAll('.squares [aria-label=text] text')].map(one => one.textContent)")
    assert (signs.count("✗"), signs.count("!")) == (kinds.count("✗ refused"), kinds.count("! warned"))


def test_without_scripts_the_same_numbers_are_there(browser: Browser, site: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(site / "query/speeds.html", PHONE, draws=False)
        assert browser.ask("document.querySelector('.plot svg')") is None
        assert "scripts are off" in browser.ask("document.body.innerText")
        browser.ask("document.querySelectorAll('details').forEach(one => one.open = true)")
        text = browser.ask("document.querySelector('.chart[data-chart] details').innerText")
        assert "2026-01-01 10:00" in text
        assert "<script>alert(1)</script>" in text
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)


LOST_CHARTS = """[...document.querySelectorAll('.chart[data-chart]')].filter(one => {
  const card = one.getBoundingClientRect(), drawn = one.querySelector('.plot svg').getBoundingClientRect();
  return drawn.right > card.right || drawn.left < card.left; }).map(one => one.innerText)"""
CARD_IS_FILLED = """(() => { const plot = document.querySelector('.chart[data-chart] .plot');
  return Math.floor(plot.clientWidth) === plot.querySelector('svg').getBoundingClientRect().width; })()"""
LINES_OF_SECONDS = """[...[...document.querySelectorAll('.chart')].find(one => one.innerText.startsWith('Seconds'))
  .querySelectorAll('.plot g[aria-label=line]')]"""
_LUMINANCE = """
  const light = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const luminance = c => 0.2126 * light(c[0]) + 0.7152 * light(c[1]) + 0.0722 * light(c[2]);
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
"""
LUMINANCE_OF_PAGE = f"(() => {{ {_LUMINANCE} return luminance(behind(document.body)); }})()"
# Text whose contrast is below 4.5, the least that WCAG AA asks for.
CONTRASTS_IN_CHARTS = f"""(() => {{ {_LUMINANCE}
  const texts = [...document.querySelectorAll('.plot svg text, .names li')];
  return texts.filter(e => e.textContent.trim() && !e.closest('[aria-label=text]')).map(e => {{
    const of = getComputedStyle(e), shown = e.tagName === 'LI' ? of.color : of.fill;
    const [one, other] = [luminance(parse(shown)), luminance(behind(e))].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05); }}); }})()"""
FAINT_TEXT = f"""(() => {{ {_LUMINANCE}
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {{
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || e.closest('svg') || e.closest('.skip')) continue;
    const [one, other] = [luminance(parse(getComputedStyle(e).color)), luminance(behind(e))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < 4.5) found.push(e.className + ' ' + walker.currentNode.data.trim().slice(0, 40) + ' ' + contrast);
  }}
  return [...new Set(found)].slice(0, 10); }})()"""
