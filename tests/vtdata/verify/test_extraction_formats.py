"""Whole responses as models write them, with the answer they give; many give none."""

from __future__ import annotations

import time

import pytest

from vtdata.verify import extract

DISPLAYED = [
    # a reasoning model's usual ends
    ("**Final Answer**\n\n$$\n\\boxed{\\dfrac{7}{3}}\n$$", r"\dfrac{7}{3}"),
    ("<think>\nhm, 12? \\boxed{12}\n</think>\n\nThus\n\n\\[\n\\boxed{13}\n\\]", "13"),
    ("Therefore, the final answer is: $\\boxed{70}$. I hope it is correct.", "70"),
    ("### Final Answer\nThe answer is $\\boxed{x=5}$.", "x=5"),
    (
        "<|channel|>analysis<|message|>\\boxed{1}<|end|><|start|>assistant<|channel|>final<|message|>"
        "**Answer:** \\(x\\)<|return|>",
        "\\(x\\)",
    ),
    ("analysisWe need 5. \\boxed{5}assistantfinalThe answer is **6**.", "6"),
    ("<reasoning>2+2=4</reasoning>\n<answer>\n4\n</answer>", "4"),
    ("[THINK]the answer is 3[/THINK]The answer is 4", "4"),
    ("<answer>The answer is $4$.</answer>", "$4$"),
    ("<answer>so \\boxed{4}</answer>", "4"),
    ("Final Answer: The final answer is $5$. I hope it is correct.", "$5$"),
    ("48/2 = 24 clips in May.\n48+24 = 72 altogether.\n#### 72", "72"),
    ("so he pays $18.\n#### $1,234.50", "$1,234.50"),
    ("**Answer**: \\(\\frac{1}{2}\\)", r"\(\frac{1}{2}\)"),
    ("**Answer: 42**", "42"),
    ("**Answer:** **42** apples", "42 apples"),
    ("Answer: `42`", "`42`"),
    ("Answer:\n```\n42\n```", "42"),
    ("## Final Answer\n42", "42"),
    ("## Final Answer\n\nThe smallest such $n$ is **12**.", "12"),
    ("**Final Answer**\n\nThe number of ways is $5 + 5 = 10$.", "10"),
    ("### Answer:\n$$x = 3$$", "x = 3"),
    ("The final answer is:\n\n\\[\n2 + 3 = 5\n\\]", "5"),
    ("The answer is $5 \\cdot 4 = 20$.", "20"),
    ("The answer to the question is 17 minutes.", "17 minutes"),
    ("The answer (in cm) is 12.", "12"),
    ("Ans: 9", "9"),
    ("So $n = 7$ is the final answer.", "$n = 7$"),
    ("So 7 is the final answer.", "7"),
    ('{"reasoning": "2+2", "answer": "4"}', "4"),
    ('{"answer": -2.5}', "-2.5"),
    ('{"final_answer": "\\\\frac{1}{2}"}', r"\frac{1}{2}"),
    ("The answer is 42, since 6*7 = 42.", "42"),
    ("The answer is 42 because I said so.", "42"),
    ("The answer is 6, not 7.", "6"),
    ("The answer is x = 1 and y = 2.", "x = 1 and y = 2"),
    ("The answer is probably 5", "5"),
    ("The answer is most likely to be $5$.", "$5$"),
    ("The answers are 3 and 5.", "3 and 5"),
    ("The answer is 5 or 6.", "5 or 6"),  # a hedge is for the comparison to refuse
    ("The solution set is $\\{1, 2\\}$.", r"$\{1, 2\}$"),
    ("The answer is not unique.", "not unique"),
    ("If the answer is 5, then x = 2. The answer is 6. Unless the answer is 7.", "6"),
    # boxes in odd clothes
    ("Therefore $\\boxed 5$.", "5"),
    ("so it is $\\boxed5$", "5"),
    ("so $\\boxed -3$ it is", "-3"),
    ("so $\\boxed\\frac{1}{2}$.", r"\frac{1}{2}"),
    ("The answer is $\\boxed B$.", "B"),
    ("$x=\\boxed{1}$, $y=\\boxed{2}$", "x = 1, y = 2"),
    ("$x=\\boxed{1}$ or $x=\\boxed{-2}$", "1 or -2"),
    ("$x=\\boxed{1}$ and $y=\\boxed{2}$", "x = 1, y = 2"),
    ("(a) $\\boxed{3}$\n(b) $\\boxed{4}$", "3, 4"),
    ("- $\\boxed{3}$\n- $\\boxed{4}$", "3, 4"),
    ("\\[\\boxed{3}\\]\n\\[\\boxed{4}\\]", "3, 4"),
    ("\\boxed{3} - \\boxed{4}", "4"),  # a difference is no list
    ("\\boxed{\\text{Answer: no}}", r"\text{no}"),
    ("\\boxed{Answer: 5}", "5"),
    ("\\boxed{答案是 5}", "5"),
    ("\\boxed{5}. I put it into \\boxed{} as asked, or \\boxed{...}.", "5"),
    ("```python\nprint(r'\\boxed{7}')\n```\nIt printed 8, so \\boxed{8}.", "8"),
    ("\\boxed{8}\n```python\nprint(r'\\boxed{7}')\n```", "8"),
    ("```\n\\boxed{9}\n```", "9"),
    # boxes that say what it is not
    ("The answer is \\boxed{8}, not \\boxed{7}.", "8"),
    ("It isn't \\(\\boxed{7}\\). It is \\boxed{8}.", "8"),
    ("So the sum of those that are not: \\boxed{7}", "7"),
    ("The answer cannot be \\boxed{7}.", None),
    ("So $x$ is not equal to $\\boxed{7}$.", None),
    ("It is \\boxed{7}. But wait, it can't be $\\boxed{7}$.", None),
    ("The answer is 5. It is not \\boxed{7}.", None),
    ("答案不是\\boxed{7}", None),
    # what a response ends on
    ("**7**", "7"),
    ("$7$", "7"),
    ("The result is **7**.", "7"),
    ("Add. The final result is $\\frac{1}{2}$.", "$\\frac{1}{2}$"),
    ("Add. Thus we get 13", "13"),
    ("Add. So the total is 1,300.5.", "1,300.5"),
    ("Add. Therefore, the probability is \\(p\\).", "\\(p\\)"),
    ("Add. Hence: -3/4", "-3/4"),
    ("Add. We obtain 20%.", "20%"),
    ("We add them up.\n\n**73**", "73"),
    ("We add them up.\n\n**73.**", "73"),
    ("We add them up.\n\n$$\n73\n$$", "73"),
    ("So it comes to\n\\[ S = 3 + 4 = 7. \\]", "7"),
    ("The circle is\n$$x^2 + y^2 = 1$$", "x^2 + y^2 = 1"),
    ("Hence\n\\begin{align*} x &= 1 \\\\ y &= 2 \\end{align*}", "x = 1, y = 2"),
    ("Solving, $$x + 1 = 4 \\implies x = 3$$ $\\blacksquare$", "x = 3"),
    ("Add. Therefore, the total is $3 + 4 = 7$.", "7"),
    ("Add. We get $x = 1$ and $y = 2$.", "x = 1 and y = 2"),
    ("Add. Therefore there are **42** ways.", "42"),
    (
        "$$A = \\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}$$",
        r"A = \begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}",
    ),
]
CHINESE = [
    ("解：……\n故答案为：$\\frac{1}{2}$。", r"$\frac{1}{2}$"),
    ("所以答案是 42，因为 6*7=42。", "42"),
    ("因此，正确答案是 D。", "D"),
    ("故选C。", "C"),
    ("故选：AC．", "AC．"),
    ("综上所述，应选 B。", "B"),
    ("所以 x＝5。", "x＝5"),
    ("综上，最小值为 3。", "3"),
    ("由题意，因此总数是12个。", "12个"),
    ("最终答案：**B**", "B"),
    ("## 最终答案\n\n42", "42"),
    ("【答案】\n42", "42"),
    ("答案为（1，2）。", "（1，2）"),
    ("答：一共有42个。", "42个"),
    ("答：小明有5个苹果。", "小明有5个苹果"),
    ("【答案】5", "5"),
    ("【答案】B【解析】略", "B"),
    ("故选 7", "7"),
    ("故选 7。", "7"),
    ("所以x＝3。", "x＝3"),
    ("我们得到 5。", "5"),
    ("所以选3个球。", None),
    ("【答案】【解析】由 5 可知", None),
    ("<think>答案是7</think>答案是8。", "8"),
    ("答案不是5。", None),
    ("所以这个结论是正确的。", None),
    ("一共有 42 个苹果。", None),
]
NOTHING = [
    "There are 42 apples in total.",  # no word, no form says that this is it
    "So 42 apples are left.",
    "So the total is not 42.",
    "So the number 3 is 1 less than 4.",
    "So the equation holds only if x is 5.",
    "So the smallest is at least 5.",
    "The total is 42.",
    "We see 13.",
    "So we get 13 of them.",
    "So is the total 42?",
    "I tried 5 times and the result is 7.",
    "3 + 4 = 7",  # a line of working
    "The answer depends on the value of k.",
    "The answer is given by the formula above.",
    "The answer is as follows:",
    "Is the answer 5?",
    "Could it be that the answer is 5?",
    "I don't know what the answer is.",
    "The answer is not 5, and I can't find it.",
    "The answer isn't 5.",
    "Answer: To find this, we need to multiply 6 by 7 first. Then we add 12. And we carry on for a "
    "long while, until everything has been carried over to the other side of the equation.",
    "#### Step 2: multiply",
    "#### 1. Compute",
    "## Final Answer",
    "**Conclusion**",
    "Multiply.\n\n**Hope this helps!**",
    "Multiply.\n\n**Step 3**",
    "Put your answer in \\boxed{}.",
    "Put your answer in \\boxed{your answer}.",
    "Put your answer in \\boxed.",
    "Your final answer goes into \\boxed{...}",
    "```python\nanswer = 42\nprint(f'the answer is: {answer}')\n```",
    '<tool_call>{"name": "calc", "arguments": {"answer": "42"}}</tool_call>',
    "```output\n42\n```",
    "<think>The answer is 7.",
    "<think>a</think>Sure. <think>The answer is 7.",
    "analysisWe need 5. The answer is 5",
    "<|channel|>analysis<|message|>The answer is 5",
    "The result looks right. <answer>42",  # cut off
    "<answer></answer>",
    "Thus $x > 2$ or not?",
    "Let me see: so what is x = ?",
    "Error: timeout after 30 s",
    "",
    " \n ",
]


@pytest.mark.parametrize(("response", "answer"), DISPLAYED + CHINESE)
def test_a_response_gives_its_answer(response: str, answer: str | None) -> None:
    assert extract(response) == answer


@pytest.mark.parametrize("response", NOTHING)
def test_a_response_without_an_answer_gives_none(response: str) -> None:
    assert extract(response) is None


@pytest.mark.parametrize(
    "unit",
    [
        "\\boxed{",
        "\\boxed5 ",
        "\\boxed \\frac" + " " * 50,
        "\\\\",
        "$x=\\boxed{1}$, ",
        "\\boxed{1}\n\n- ",
        "answer is ",
        "answer for a ",
        "answer*_",
        "*_",
        "<answer>",
        '"answer": "',
        "#### a\n",
        "## answer\n",
        "```python\n",
        "<tool_call>",
        "a$$b",
        "so x=1 and ",
        "the a is ",
        "**a",
        "---.",
        "故选",
        "答案是",
        "<|im_end|>",
        "\\begin{align}",
    ],
)
@pytest.mark.parametrize(
    "around", [("", ""), ("The answer is ", ""), ("", "\n\nSo x = 1\\end{align}")]
)
def test_a_long_response_takes_linear_time(unit: str, around: tuple[str, str]) -> None:
    text = around[0] + unit * (200_000 // len(unit)) + around[1]
    start = time.process_time()
    extract(text)
    assert time.process_time() - start < 1.0  # 0.2 s measured; a quadratic scan takes minutes
