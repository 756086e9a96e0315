"""`python -m docs.site [--redraw] [--to FOLDER]`: gather the pages, let Sphinx build them; a warning is an error."""

import argparse
import subprocess
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx

from docs.site.pages import ROOT, stage


def redraw(source: Path) -> None:
    """Draw all pictures anew, into the staged pages."""
    for script in sorted((ROOT / "examples").glob("*_pictures.py")):
        folder = source / "mechanisms" / "img" if script.stem == "mechanism_pictures" else source / "img"
        subprocess.run([sys.executable, script, folder], check=True, stdout=subprocess.DEVNULL)


def main(arguments: list[str]) -> int:
    """Build the site; 0 if it was built without a warning."""
    parser = argparse.ArgumentParser(prog="python -m docs.site", description="Build the documentation as a site.")
    parser.add_argument("--redraw", action="store_true", help="draw all pictures anew; else those of the repository")
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "site", help="the folder (build/site)")
    chosen = parser.parse_args(arguments)
    source = stage(chosen.to / "source")
    if chosen.redraw:
        redraw(source)
    html = chosen.to / "html"
    options = ["-c", str(Path(__file__).parent), "-d", str(chosen.to / "doctrees")]
    ended = sphinx(["-b", "html", "-q", "-E", "-W", "--keep-going", *options, str(source), str(html)])
    if not ended:
        print(f"The site is in {html}: open index.html in a browser.")
    return ended


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
