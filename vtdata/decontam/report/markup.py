"""Text as HTML: nothing in it is markup, and nothing in it hides."""

from __future__ import annotations

import html
import re
import unicodedata

from vtdata.decontam.report.spans import hides

_ODD = re.compile(r"[^\x20-\x7e\t\n]")


def shown(text: str) -> str:
    r"""Return text as HTML; a character that hides or turns its neighbors is spelled.

    >>> shown("a < b\u202e")
    'a &lt; b<span class="hidden-char" title="RIGHT-TO-LEFT OVERRIDE">U+202E</span>'
    >>> shown("</script>\r\n")
    '&lt;/script&gt;\n'
    """
    return _ODD.sub(_spell, html.escape(text.replace("\r\n", "\n")))


def attribute(text: str) -> str:
    """Return text for the inside of a quoted attribute.

    >>> attribute('a" onclick="b')
    'a&quot; onclick=&quot;b'
    """
    return html.escape(text).replace("\x00", "\ufffd")


def plural(number: int, noun: str) -> str:
    """Return a number and its noun.

    >>> plural(1, "hit"), plural(2000, "hit")
    ('1 hit', '2,000 hits')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _spell(match: re.Match[str]) -> str:
    char = match.group()
    if not hides(char):
        return char
    name = html.escape(unicodedata.name(char, "no name"))
    return f'<span class="hidden-char" title="{name}">U+{ord(char):04X}</span>'
