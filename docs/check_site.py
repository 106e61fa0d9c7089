"""Check a built site: every internal link has a goal, and no page loads a script, a style or a picture from elsewhere.

python docs/check_site.py site docs/index.html
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """Links, loaded files and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.anchors = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Read one tag."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if "src" in given:
            self.loaded.append(given["src"])
        if "href" in given:
            (self.links if tag == "a" else self.loaded).append(given["href"])


def problems(site: Path) -> list[str]:
    """What is wrong with the pages below a folder.

    Parameters
    ----------
    site : Path
        Folder of the built site.

    Returns
    -------
    list of str
        One line for each broken link, and for each file that a page would load from another host.
    """
    pages = {path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if link in page.loaded:
                    found.append(f"{path}: loads {link} from another host")
                continue
            goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not goal.is_file():
                found.append(f"{path}: {link} leads nowhere")
            elif goal in pages and unquote(parts.fragment) not in pages[goal].anchors:
                found.append(f"{path}: {link}: no such heading")
    return found


def main(site: Path, first: str) -> int:
    """Print problems, or the address of the first page."""
    found = problems(site) if (site / first).is_file() else [f"{site / first}: no such page"]
    for line in found:
        print(line)
    if not found:
        print(f"The documentation: {(site / first).resolve().as_uri()}")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]), sys.argv[2]))
