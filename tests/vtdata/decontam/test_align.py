"""How well an item fits a place of a text: both sides of each rule, and the best chain by trying all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Indel

from vtdata.decontam.align import GAP, Fit, Pieces, fit, pieces, text_pieces
from vtdata.decontam.normal.tokens import words

ITEM = "Each of 12 red foxes buys 7 pies and 30 tarts today"


def cut(text: str) -> Pieces:
    found = words(text, "evidence")
    return pieces(found, [1.0] * len(found))


def laid(item: str, text: str) -> Fit:
    found = fit(cut(item), text_pieces(words(text, "evidence")))
    assert found is not None
    return found


def test_what_is_equal_fits_wholly() -> None:
    assert laid(ITEM, ITEM) == Fit(
        share=1.0, template=1.0, density=1.0, equal=12, weight=12.0, run=12, numbers_changed=0,
        numbers_same=3, pieces=(0, 12), span=(0, 12), item_span=(0, 12),
    )  # fmt: skip


def test_what_stands_around_is_left_out() -> None:
    found = laid(ITEM, f"Read this slowly. {ITEM}. The rest is silence.")
    assert (found.share, found.density, found.span) == (1.0, 1.0, (3, 15))


def test_an_insertion_lowers_density_alone() -> None:
    found = laid(ITEM, ITEM.replace("pies", "very warm pies"))
    assert (found.share, found.equal, found.run) == (1.0, 12, 7)
    assert found.density == 12 / 14


def test_a_deletion_lowers_share_and_density() -> None:
    found = laid(ITEM, ITEM.replace("red ", ""))
    assert found.share == found.density == found.template == 11 / 12
    assert (found.numbers_changed, found.numbers_same) == (0, 3)


@pytest.mark.parametrize(
    ("text", "changed", "equal"),
    [
        (ITEM.replace("12", "15"), 1, 11),
        (ITEM.replace("7", "9"), 1, 11),
        (ITEM.replace("30", "31"), 1, 11),
        (ITEM.replace("12", "15").replace("7", "9").replace("30", "31"), 3, 9),
        (ITEM.replace("12", "dozens of"), 0, 11),  # no number stands there
        (ITEM.replace("12 ", ""), 0, 11),
        (ITEM.replace("12", "12 15"), 0, 12),  # a further number changes none
    ],
)
def test_numbers_that_differ_are_counted(text: str, changed: int, equal: int) -> None:
    found = laid(ITEM, text)
    assert (found.numbers_changed, found.equal) == (changed, equal)
    assert found.template == pytest.approx((equal + changed) / 12)
    assert found.share == pytest.approx(equal / 12)


@pytest.mark.parametrize(
    ("item", "text", "changed"),
    [
        ("12 red foxes buy many warm pies", "15 red foxes buy many warm pies", 1),
        ("red foxes buy many warm pies for 12", "red foxes buy many warm pies for 15", 1),
        # What stands beyond the item's end is not opposite to its last number.
        (
            "red foxes buy many warm pies for 12",
            "red foxes buy many warm pies for them, says 15",
            0,
        ),
        ("12 red foxes buy many warm pies", "15 of the red foxes buy many warm pies", 0),
    ],
)
def test_a_number_at_either_end_is_seen(item: str, text: str, changed: int) -> None:
    assert laid(item, text).numbers_changed == changed


@pytest.mark.parametrize(
    ("item", "text"),
    [
        (r"the sum of \frac{5}{12} and one more fox", "the sum of frac512 and one more fox"),
        (r"the sum of $2^{10}$ and one more fox", "the sum of 210 and one more fox"),
    ],
)
def test_numbers_that_were_glued_did_not_change(item: str, text: str) -> None:
    assert laid(item, text).numbers_changed == 0


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ("three foxes and twenty pies", "3 foxes and 20 pies"),
        ("THREE foxes and Twenty pies", "3 foxes and 20 pies"),
        ("twice as many foxes", "2 as many foxes"),
        ("三只狐狸", "3只狐狸"),
        ("x2y and 3ab", "x 2 y and 3 ab"),
        (r"\frac12x^2", "1/2x²"),
    ],
)
def test_spellings_of_a_number_are_equal(item: str, text: str) -> None:
    there, back = laid(item, text), laid(text, item)
    assert there.share == there.density == back.share == back.density == 1.0


def test_a_stray_word_far_away_is_not_part_of_the_place() -> None:
    far = "foxes " + "lorem ipsum dolor " * 20
    found = laid("all of the red foxes buy warm pies", far + "all of the red buy warm pies")
    assert found.span == (61, 68)
    assert found.equal == 7


def test_a_beginning_that_costs_more_than_it_brings_is_left_out() -> None:
    """One equal word, then three that only the item has: half a word lost."""
    found = laid("foxes x y z buy warm pies", "foxes buy warm pies")
    assert (found.span, found.item_span, found.share) == ((1, 4), (4, 7), 3 / 7)


def test_halves_that_are_near_are_one_place() -> None:
    found = laid("all of the red foxes buy warm pies", "all of the red and quick buy warm pies")
    assert (found.span, found.equal) == ((0, 9), 7)


def test_of_equal_halves_far_apart_the_first_counts() -> None:
    found = laid("red foxes buy pies", "red foxes " + "lorem ipsum " * 9 + "buy pies")
    assert (found.span, found.item_span, found.equal) == ((0, 2), (0, 2), 2)


def test_nothing_is_equal() -> None:
    assert fit(cut("red foxes"), cut("blue whales")) is None
    assert fit(cut("red foxes"), cut("")) is None


def test_light_words_weigh_what_they_weigh() -> None:
    tokens = words("red foxes find m plus n", "evidence")
    item = pieces(tokens, [1.0, 1.0, 0.1, 0.1, 0.1, 0.1])
    found = fit(item, cut("red foxes"))
    assert found is not None
    assert found.share == pytest.approx(2 / 2.4)
    assert (found.weight, found.density) == (2.0, 1.0)


def test_words_without_weight_are_no_pieces_but_keep_their_place() -> None:
    found = pieces(["a", "b2", "c"], [0.0, 1.0, 1.0])
    assert (found.texts, found.token, found.total) == (["b", "2", "c"], [1, 1, 2], 3.0)


def test_instructions_of_a_text_are_no_pieces() -> None:
    text = "Think step by step. Red foxes. " + r"Put your final answer within \boxed{}."
    assert text_pieces(words(text, "evidence")).texts == ["red", "foxes"]


LETTERS = st.lists(st.sampled_from("abcd123"), min_size=1, max_size=14)


def plain(letters: list[str]) -> Pieces:
    return pieces(letters, [1.0] * len(letters))


@given(LETTERS, LETTERS)
def test_the_chain_is_the_best_of_all(item: list[str], text: list[str]) -> None:
    """Equal pieces, less half of the longer gap of both sides between two blocks."""
    blocks = [o for o in Indel.opcodes(item, text) if o.tag == "equal"]
    found = fit(plain(item), plain(text))
    if not blocks:
        assert found is None
        return
    assert found is not None

    def worth(first: int, last: int) -> float:
        total = 0.0
        for number in range(first, last + 1):
            own, before = blocks[number], blocks[number - 1]
            if number > first:
                here = own.src_start - before.src_end
                there = own.dest_start - before.dest_end
                total -= GAP * max(here, there)
            total += own.src_end - own.src_start
        return total

    chains = [(i, k) for i in range(len(blocks)) for k in range(i, len(blocks))]
    most = max(worth(*chain) for chain in chains)
    spans = {
        (blocks[i].dest_start, blocks[k].dest_end)
        for i, k in chains
        if worth(i, k) == pytest.approx(most)
    }
    assert found.pieces in spans


@given(LETTERS, LETTERS)
def test_measures_keep_their_bounds(item: list[str], text: list[str]) -> None:
    found = fit(plain(item), plain(text))
    if found is None:
        assert not set(item) & set(text)
        return
    assert 0 < found.share <= found.template <= 1
    assert 0 < found.density <= 1
    assert 1 <= found.run <= found.equal <= min(len(item), len(text))
    assert found.weight == found.equal
    assert found.numbers_same + found.numbers_changed <= sum(map(str.isdigit, item))
    first, last = found.span
    assert 0 <= first < last <= len(text)
    assert text[first] == item[found.item_span[0]]
    assert text[last - 1] == item[found.item_span[1] - 1]


@given(LETTERS, st.integers(0, 30), st.integers(0, 30))
def test_a_copy_is_found_whatever_stands_around(item: list[str], before: int, after: int) -> None:
    found = fit(plain(item), plain([*["x"] * before, *item, *["y"] * after]))
    assert found is not None
    assert (found.share, found.density, found.run) == (1.0, 1.0, len(item))
