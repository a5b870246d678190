"""A hook of mkdocs: no page that was built asks for anything from another host."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError

#: elements that make a browser fetch what they name, and the attributes that name it
_FETCHED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
    "link": "href",
}


class _Requests(HTMLParser):
    """Collects what a page would fetch from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = dict(attrs).get(_FETCHED.get(tag, "")) or ""
        if address.startswith(("http:", "https:", "//")):
            self.found.append(f"<{tag}> {address}")


def on_post_build(config: MkDocsConfig) -> None:
    """Raise an error that names the pages that would need a network."""
    found = []
    for page in sorted(Path(config.site_dir).rglob("*.html")):
        reader = _Requests()
        reader.feed(page.read_text("utf-8"))
        found += [f"{page.name}: {address}" for address in reader.found]
    if found:
        raise PluginError("pages must work without a network, but " + "; ".join(found))
