"""When well-known models were released, for the dates of rows that they wrote or judged.

Only names whose date is known for sure; the day is left out where days differ by time zone or by
size. A fine-tune has another name and another date: it is not here, hence unknown.
"""

from __future__ import annotations

import re

_SIZES = r"-\d+(?:\.\d+)?b"

_RELEASES: tuple[tuple[str, str], ...] = (
    # Qwen2.5: the family's announcement of 2024-09-19, Math included; its Coder came in two parts,
    # of 2024-09-19 and 2024-11-12, of which the later one counts
    (rf"qwen2\.5{_SIZES}(?:-instruct)?", "2024-09-19"),
    (rf"qwen2\.5-math{_SIZES}(?:-instruct)?", "2024-09-19"),
    (rf"qwen2\.5-coder{_SIZES}(?:-instruct)?", "2024-11-12"),
    (r"qwq-32b-preview", "2024-11-28"),  # its blog
    (r"qwq-32b", "2025-03"),  # its blog: March 5 or 6
    # Qwen3: the family's announcement of 2025-04-29; the 2507 models: their cards
    (rf"qwen3{_SIZES}(?:-a\d+b)?(?:-base)?", "2025-04-29"),
    (r"qwen3-(?:235b-a22b|30b-a3b)-(?:instruct|thinking)-2507", "2025-07"),
    (r"qwen3-4b-(?:instruct|thinking)-2507", "2025-08"),
    # DeepSeek: api-docs.deepseek.com/news; the distills came with R1
    (r"deepseek-v3(?:-base)?", "2024-12-26"),
    (r"deepseek-v3-0324", "2025-03"),
    (r"deepseek-r1(?:-zero)?", "2025-01-20"),
    (rf"deepseek-r1-distill-(?:qwen|llama){_SIZES}", "2025-01-20"),
    (r"deepseek-r1-0528", "2025-05-28"),
    (rf"deepseek-r1-0528-qwen3{_SIZES}", "2025-05"),
    (r"gpt-oss-(?:20|120)b", "2025-08-05"),  # OpenAI's announcement
    (r"vibethinker-1\.5b", "2025-11"),  # its report, arXiv 2511.06221
    (r"vibethinker-3b", "2026-06"),  # its report is of 2026-06-13
    # Hugging Face's announcements
    (r"smollm2-(?:135m|360m|1\.7b)(?:-instruct)?", "2024-11"),
    (r"smollm3-3b(?:-base)?", "2025-07-08"),
    # Meta's announcements
    (rf"llama-3\.1{_SIZES}(?:-instruct)?", "2024-07-23"),
    (rf"llama-3\.2{_SIZES}(?:-instruct)?", "2024-09-25"),
    (r"llama-3\.3-70b-instruct", "2024-12-06"),
)
_PACKED = r"(?:-(?:gguf|awq|fp8|bf16|gptq-int[48]))?"
_TABLE = tuple((re.compile(pattern + _PACKED), day) for pattern, day in _RELEASES)


def released(model: str) -> str | None:
    """Return when a model was released, ISO and perhaps partial; None where that isn't known.

    >>> released("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B")
    '2025-01-20'
    >>> released("me/qwen3-8b-tuned") is None
    True
    """
    name = model.rsplit("/", 1)[-1].casefold()
    return next((day for pattern, day in _TABLE if pattern.fullmatch(name)), None)
