"""Prompts in other words or in another language, and the cosine against plain arithmetic."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.vtdata.decontam.hits import bench
from vtdata.decontam.index import Index, build
from vtdata.decontam.profile import EVIDENCE, PAPER, SIMILARITY_FROM, judge
from vtdata.decontam.suspect import COMMON_SHARE

ITEMS = (
    "A baker sells 48 rolls and 36 pretzels every morning. Rolls cost 2 coins and pretzels cost 5 "
    "coins. How many coins does the baker earn in 7 mornings?",
    "Olga's orchard has 125 pear trees. Each tree bears 64 pears, of which 18 rot. How many good "
    "pears does Olga harvest?",
    "A ferry carries 230 passengers on each crossing and makes 14 crossings a day. Tickets are 9 "
    "euros. What does the ferry company take in a day?",
    "Pavel reads a novel of 672 pages in 16 evenings, the same number of pages every evening. How "
    "many pages has Pavel left after 11 evenings?",
    "The choir has 27 sopranos, 19 altos and 23 basses; a third of the sopranos are ill today. How "
    "many singers are on stage?",
    "Let triangle $ABC$ have sides 13, 14 and 15. Find the radius of its inscribed circle.",
)

PARAPHRASES = (
    "Every morning 36 pretzels and 48 rolls leave the shop of a baker. If pretzels sell for 5 coins "
    "and rolls for 2, what are the baker's earnings, in coins, after 7 mornings?",
    "There are 125 pear trees in the orchard that belongs to Olga, with 64 pears on every tree; 18 "
    "pears of each tree rot. What number of pears can Olga harvest in good condition?",
    "A company's ferry makes 14 crossings each day with 230 passengers aboard. If tickets cost 9 "
    "euros, how many euros does that ferry take in daily?",
    "In 16 evenings, Pavel finishes a novel that is 672 pages long, and reads equally many pages "
    "each evening. After 11 of the evenings, how many pages remain for Pavel?",
    "A choir consists of 19 altos, 23 basses and 27 sopranos, but one third of its sopranos stay at "
    "home ill. Count the singers who are on stage.",
)

TRANSLATIONS = (
    "面包师每天早上卖出48个小面包和36个椒盐卷饼。小面包每个2枚硬币，椒盐卷饼每个5枚硬币。7个早上面包师总共赚多少枚硬币？",
    "奥尔加的果园里有125棵梨树，每棵树结64个梨，其中18个会烂掉。奥尔加能收获多少个好梨？",
    "渡轮每次运送230名乘客，每天往返14次，船票每张9欧元。渡轮公司每天收入多少？",
    "帕维尔用16个晚上读完672页的小说，每晚读的页数相同。11个晚上之后他还剩多少页？",
)

CLEAN = (
    "A gardener plants 12 rows of tulips with 40 bulbs in each row. How many bulbs is that?",
    "What is the capital of the country whose flag shows a maple leaf?",
    "Write a function that returns the longest word of a sentence.",
    "Let $f(x) = x^2 + 3x$. Find the minimum of $f$.",
    "小明有12个苹果，吃了5个，还剩多少个？",
    "A train leaves at 9 and arrives at 14. How long does the journey take?",
)


def scanned(index: Index, *own: str, side: str = "prompt") -> list[tuple[int, int]]:
    """Texts and the items that they are suspected to be."""
    found = judge(index.scan(pa.array(own), side), index.profile).to_pylist()
    return [(row["text"], row["item"]) for row in found if row["verdict"] == "suspect"]


@pytest.fixture
def index() -> Index:
    return build([bench("b", *ITEMS)], EVIDENCE)


def test_paraphrases_are_suspects(index: Index) -> None:
    assert scanned(index, *PARAPHRASES) == [(at, at) for at in range(len(PARAPHRASES))]


def test_translations_are_suspects_by_their_numbers(index: Index) -> None:
    assert scanned(index, *TRANSLATIONS) == [(at, at) for at in range(len(TRANSLATIONS))]


def test_translations_back_are_suspects_too() -> None:
    index = build([bench("zh", *TRANSLATIONS)], EVIDENCE)
    assert scanned(index, *ITEMS) == [(at, at) for at in range(len(TRANSLATIONS))]


def test_what_has_another_subject_is_no_suspect(index: Index) -> None:
    assert scanned(index, *CLEAN) == []


def test_responses_are_not_looked_through(index: Index) -> None:
    assert scanned(index, *PARAPHRASES, *TRANSLATIONS, side="response") == []


def test_the_paper_has_no_suspects() -> None:
    assert scanned(build([bench("b", *ITEMS)], PAPER), *PARAPHRASES, *TRANSLATIONS) == []


def test_a_copy_is_no_mere_suspect(index: Index) -> None:
    found = judge(index.scan(pa.array(ITEMS), "prompt"), EVIDENCE).to_pylist()
    copies = [row["verdict"] for row in found if row["text"] == row["item"]]
    assert copies == ["exact"] * len(ITEMS)


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("有125棵树，每棵64个，坏18个", True),
        ("有64个，18个，125个", True),  # in any order
        ("有125棵树，每棵64个，坏19个", False),
        ("有125棵树，每棵64个，坏18个，再加3个", False),  # a further number
        ("有125棵树，每棵64个", False),
        ("there are 125 and 64 and 18", False),  # no other kind of script
    ],
)
def test_a_translation_has_all_numbers_and_no_other(text: str, is_one: bool) -> None:
    index = build([bench("b", ITEMS[1])], EVIDENCE)
    assert scanned(index, text) == ([(0, 0)] if is_one else [])


@pytest.mark.parametrize(
    ("item", "is_one"),
    [
        ("They had 125 and 64 pears", False),  # two numbers
        ("They had 1 and 2 and 3 pears", False),  # three digits
        ("They had 12 and 3 and 4 pears", False),  # four digits
        ("They had 12 and 3 and 45 pears", True),  # three numbers of five digits
        ("They had 12345 and 6 and 7 pears", True),  # a long number counts as three digits
        ("They had 1234 and 5 and 5 pears", False),
    ],
)
def test_few_numbers_stand_for_no_problem(item: str, is_one: bool) -> None:
    numbers = "，".join(word for word in item.split() if word.isdigit())
    index = build([bench("b", item, ITEMS[0])], EVIDENCE)
    assert scanned(index, f"他们有梨子：{numbers}，共多少") == ([(0, 0)] if is_one else [])


WORDS = st.lists(st.sampled_from(["fox", "pie", "dawn", "red", "warm", "buys", "lamp", "sea", "12", "three"]),
                 min_size=1, max_size=12)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(WORDS, min_size=1, max_size=6), WORDS)
def test_similarity_is_the_cosine_of_weighed_words(items: list[list[str]], text: list[str]) -> None:
    found = build([bench("b", *map(" ".join, items))], EVIDENCE)
    rows = found.scan(pa.array([" ".join(text)]), "prompt").to_pylist()
    measured = {row["item"]: row["similarity"] for row in rows if row["similarity"] is not None}
    expected = cosines(items, text)
    most = max(expected)
    if most >= SIMILARITY_FROM + 1e-6:
        assert len(measured) == 1
        [(item, similarity)] = measured.items()
        assert similarity == pytest.approx(min(1.0, most), rel=1e-5)
        assert expected[item] == pytest.approx(most)
    elif most < SIMILARITY_FROM - 1e-6:
        assert measured == {}


def cosines(items: list[list[str]], text: list[str]) -> list[float]:
    """Of a text with each item; words that many items have count in the lengths alone."""
    bags = [Counter("3" if word == "three" else word for word in words) for words in (*items, text)]
    *bags, own = bags
    df = Counter(word for bag in bags for word in bag)
    idf = {word: math.log((len(bags) + 1) / (df[word] + 0.5)) for word in {*df, *own}}
    rare = {word for word in df if df[word] <= max(3, COMMON_SHARE * len(bags))}

    def weighed(bag: Counter[str]) -> dict[str, float]:
        return {word: (1 + math.log(count)) * idf[word] for word, count in bag.items()}

    def length(bag: Counter[str]) -> float:
        return math.sqrt(sum(value**2 for value in weighed(bag).values())) or 1.0

    mine = weighed(own)
    return [
        sum(value * mine.get(word, 0.0) for word, value in weighed(bag).items() if word in rare)
        / (length(bag) * length(own))
        for bag in bags
    ]
