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

    def open(self, page: Path, size: tuple[int, int], scheme: str = "light") -> None:
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

    def ask(self, expression: str) -> Any:
        """The value of a script's expression in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

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
PAGES = ("index.html", "query/speeds.html", "stream/traffic.html", "docs/papers.html", REFUSED)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_a_page_loads_alone_and_fits_its_width(browser: Browser, site: Path, page: str, size: tuple[int, int]) -> None:
    browser.open(site / page, size)
    asked = [address for address in browser.requests() if not address.startswith("data:image/png")]
    assert asked == [(site / page).as_uri()], "only the page itself is asked for"
    assert browser.complaints() == []
    assert browser.ask("document.documentElement.scrollWidth") <= size[0], "nothing lies beyond the right edge"


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_what_is_behind_it(browser: Browser, site: Path, page: str, scheme: str) -> None:
    browser.open(site / page, DESKTOP, scheme)
    assert (browser.ask(LUMINANCE_OF_PAGE) < 0.2) == (scheme == "dark")
    assert browser.ask(FAINT_TEXT) == []


def test_lines_of_a_chart_are_drawn_in_different_colours(browser: Browser, site: Path) -> None:
    for scheme in ("light", "dark"):
        browser.open(site / "index.html", DESKTOP, scheme)
        colours = browser.ask(
            "[...[...document.querySelectorAll('.chart')].find(c => c.innerText.startsWith('Seconds'))"
            ".querySelectorAll('.plot .line')].map(line => getComputedStyle(line).stroke)"
        )
        assert len(set(colours)) == 6


def test_a_chart_is_as_wide_as_its_card_and_keeps_its_text_readable(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", PHONE)
    width = browser.ask("document.querySelector('.plot svg').getBoundingClientRect().width")
    assert width > 200
    assert browser.ask("parseFloat(getComputedStyle(document.querySelector('.ticks span')).fontSize)") >= 12


def test_the_keyboard_reaches_a_slice_and_opens_it(browser: Browser, site: Path) -> None:
    browser.open(site / "index.html", DESKTOP)
    for _ in range(40):
        for kind in ("keyDown", "keyUp"):
            browser.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        if "cell" in (browser.ask("document.activeElement.className") or ""):
            break
    assert browser.ask("getComputedStyle(document.activeElement).outlineStyle") == "solid", "one sees where one is"
    target = browser.ask("document.activeElement.href")
    for kind in ("keyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
        )
    deadline = time.monotonic() + 30
    while browser.ask("location.href") != target:
        assert time.monotonic() < deadline, "the slice's page did not open"
        time.sleep(0.05)
    assert browser.ask("document.querySelector('h1').innerText").startswith("Slice 2026-01-01")


_LUMINANCE = """
  const light = c => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const luminance = c => 0.2126 * light(c[0]) + 0.7152 * light(c[1]) + 0.0722 * light(c[2]);
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c; } return [255, 255, 255]; };
"""
LUMINANCE_OF_PAGE = f"(() => {{ {_LUMINANCE} return luminance(behind(document.body)); }})()"
# Text whose contrast is below 4.5, the least that WCAG AA asks for.
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
