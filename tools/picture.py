"""The picture of the report in the README: ``python tools/picture.py``. Needs Chromium."""

import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from eigenlens.cli import app
from eigenlens.cli._run import run

PICTURE = Path(__file__).parents[1] / "docs/images/report.png"
SHOWN = "header, #short, #rows"  # the rest of the page does not fit in a README
STYLE = f"""
section:not({SHOWN}), nav {{ display: none !important }}
body {{ padding: 0 2rem 1rem !important }}
"""


def main():
    """Write the report of the demo, and photograph its best parts."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        page = Path(folder, "report.html")
        run(app, ["demo", "-o", str(page)])
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        sheet = browser.new_page(viewport={"width": 1000, "height": 1000})
        sheet.goto(page.as_uri())
        sheet.add_style_tag(content=STYLE)
        figure = sheet.locator("#rows .plot")
        figure.scroll_into_view_if_needed()
        figure.locator(".main-svg").first.wait_for()
        PICTURE.parent.mkdir(exist_ok=True)
        sheet.screenshot(path=PICTURE, full_page=True)
        browser.close()


if __name__ == "__main__":
    main()
