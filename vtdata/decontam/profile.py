"""The two profiles, and what a candidate's figures mean under each.

``paper`` is the 1.5B report's rule (arXiv:2511.06221, p. 7): punctuation and symbols removed, case
unified, 10-grams; any shared one counts. That items shorter than ten words count where a whole
prompt or a whole line equals them is ours.

``evidence`` is ours: candidates by 5-grams, weighed by how rare they are within the benchmark, then
an alignment of the item with the place of the text where most of it stands.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from hashlib import sha256

import numpy as np
import pyarrow as pa

from vtdata.decontam import align
from vtdata.decontam.normal import phrases, tokens
from vtdata.errors import ConfigError
from vtdata.text import nearest

VERSION = 1
"""Raised whenever the same text and item could give another candidate; part of the hash."""


CHARACTERS_FROM, SIMILARITY_FROM = 0.3, 0.42
"""What a scan keeps for other thresholds: ``glued_share`` and ``suspect_similarity`` below these
need a scan of their own. Ours."""


@dataclass(frozen=True, slots=True)
class Profile:
    """How to look, and what counts. Thresholds beyond ``scan_fields`` re-score without a scan."""

    name: str
    form: str
    """Of normalization: evidence or paper."""
    n: int
    """Words in an n-gram."""
    aligns: bool
    """Whether candidates are aligned; without, any shared n-gram is a hit."""
    short_words: int = 9
    """Items of at most so many words count where they are a whole prompt or line."""
    min_coverage: float = 0.12
    """Weighted share of an item's n-grams in one window of a text for it to be a candidate."""
    near_share: float = 0.75
    """Least share of an item that is equal, both weighted and by count (0.8 of it), for near."""
    part_share: float = 0.3
    """Least share of an item that stands in a part of it, as in a truncated copy, for near."""
    part_density: float = 0.85
    """Least share of equal pieces in that part."""
    part_weight: float = 10.0
    """Least weight of equal pieces in that part."""
    tiny_pieces: int = 12
    """Items of fewer pieces have to be equal but for a tenth, without insertions."""
    exact_pieces: int = 10
    """Items of fewer pieces are exact nowhere inside of a text: too little to be told."""
    glued_share: float = 0.4
    """From this share on the characters are compared, without spaces: some copies lose them."""
    glued_similarity: float = 0.85
    """Least similarity of those characters for near."""
    template_share: float = 0.7
    """Least share that is equal but for numbers for template."""
    suspect_similarity: float = 0.47
    """Least similarity of whole prompts for suspect."""

    @property
    def characters_from(self) -> float:
        """From this share on the characters of a candidate are compared."""
        return min(CHARACTERS_FROM, self.glued_share)

    @property
    def similarity_from(self) -> float:
        """Prompts of less similarity are no candidates."""
        return min(SIMILARITY_FROM, self.suspect_similarity)

    @property
    def version(self) -> str:
        """Versions of all rules that make candidates."""
        return f"{VERSION}.{tokens.VERSION}.{phrases.VERSION}.{align.VERSION}"

    @property
    def label(self) -> str:
        """Name and version, as evidence and cards write it."""
        return f"{self.name}-{self.version}"

    @property
    def hash(self) -> str:
        """sha256 of what candidates depend on; other thresholds need no scan."""
        scan = [self.form, self.n, self.aligns, self.short_words, self.min_coverage]
        scan += [self.characters_from, self.similarity_from]
        return sha256(json.dumps([self.version, *scan]).encode()).hexdigest()

    @property
    def thresholds(self) -> dict[str, object]:
        """All settings, for cards."""
        return asdict(self)


EVIDENCE = Profile(name="evidence", form="evidence", n=5, aligns=True)
PAPER = Profile(name="paper", form="paper", n=10, aligns=False, min_coverage=0.0)
PROFILES = {"evidence": EVIDENCE, "paper": PAPER}


def profile(name: str, **changes: float) -> Profile:
    """Return a profile, with other thresholds where given.

    Raises:
        ConfigError: no such profile, or no such threshold.
    """
    if name not in PROFILES:
        raise ConfigError(
            f"profile '{name}' is not in {', '.join(PROFILES)};{nearest(name, PROFILES)}"
        )
    known = asdict(PROFILES[name])
    for key in changes:
        if key not in known:
            raise ConfigError(f"profile '{name}' has no '{key}';{nearest(key, known)}")
    return replace(PROFILES[name], **changes)


_NAMES = (
    "rule coverage alignment template density weight n_equal n_pieces longest_run n_tokens"
    " numbers_changed similarity characters"
)
_FIGURES = _NAMES.split()

VERDICT_ORDER = ("short_exact", "exact", "near", "template", "suspect")
"""The first that applies is the verdict."""

Columns = dict[str, np.ndarray]


def judge(candidates: pa.Table, profile: Profile) -> pa.Table:
    """Add ``verdict`` (null: no hit) and ``strength`` ([0, 1], for sorting) to candidates.

    Each row is judged by itself, from its own figures and the profile's thresholds alone.
    """
    columns: Columns = {
        str(name): candidates[name].to_numpy(zero_copy_only=False)
        for name in _FIGURES
        if name in candidates.column_names
    }
    verdicts, strengths = (_aligned if profile.aligns else _counted)(columns, profile)
    found = pa.array(verdicts, pa.string(), from_pandas=True)
    return candidates.append_column("verdict", found).append_column(
        "strength", pa.array(np.clip(strengths, 0, 1), pa.float32())
    )


def _counted(c: Columns, _: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Any shared n-gram is a hit."""
    short = c["rule"] == "short"
    whole = ~short & (c["longest_run"] >= c["n_tokens"])
    verdicts = np.select([short, whole], ["short_exact", "exact"], "near").astype(object)
    return verdicts, np.where(short | whole, 1.0, c["coverage"])


def _aligned(c: Columns, p: Profile) -> tuple[np.ndarray, np.ndarray]:
    share = np.nan_to_num(c["alignment"].astype(float)) / 100
    template = np.nan_to_num(c["template"].astype(float))
    density = np.nan_to_num(c["density"].astype(float))
    weight = np.nan_to_num(c["weight"].astype(float))
    characters = np.nan_to_num(c["characters"].astype(float))
    similarity = np.nan_to_num(c["similarity"].astype(float))
    pieces = c["n_pieces"]
    counted = c["n_equal"] / np.maximum(pieces, 1)
    tiny, changed = pieces < p.tiny_pieces, c["numbers_changed"] > 0
    whole = _reach(share, p.near_share) & _reach(counted, 0.8 * p.near_share)
    part = _reach(share, p.part_share) & _reach(density, p.part_density)
    part &= _reach(weight, p.part_weight)
    glued = _reach(share, p.glued_share) & _reach(characters, p.glued_similarity)
    small = (pieces >= p.tiny_pieces // 2) & _reach(np.minimum(share, counted), 0.9)
    small &= _reach(density, 0.95)
    exact = (c["longest_run"] >= pieces) & (pieces >= p.exact_pieces)
    near = ~changed & np.where(tiny, small, whole | part | glued)
    swapped = changed & _reach(template, p.template_share) & (pieces >= p.tiny_pieces // 2)
    short, grams, masked = (c["rule"] == rule for rule in ("short", "grams", "template"))
    suspected = _reach(similarity, p.suspect_similarity)
    rules = [short, grams & exact, grams & near, (grams | masked) & swapped, suspected]
    verdicts = np.select(rules, list(VERDICT_ORDER), "").astype(object)
    verdicts[verdicts == ""] = None
    one = np.ones(len(share))
    strengths = [one, one, np.maximum(share, characters), template / 2, similarity / 2]
    return verdicts, np.select(rules, strengths, 0.0)


def _reach(figures: np.ndarray, least: float) -> np.ndarray:
    """Whether figures are at least so large; those in float32 may lie a bit below what they are."""
    return figures >= least - 1e-6
