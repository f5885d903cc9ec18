"""The JSON that goes back, in the shapes of the OpenAI and vLLM servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vtdata.llm.embedded.engine import Row, Scored


class Writer:
    """Writes the answer to one request.

    Args:
        model: the served id.
        tokenizer: names tokens.
        answer_id: the same in every piece of a stream.
        created: seconds since 1970.
        chat: shapes of /v1/chat/completions, else of /v1/completions.
    """

    def __init__(
        self, model: str, tokenizer: Any, answer_id: str, created: int, *, chat: bool
    ) -> None:
        self.tokenizer, self.chat = tokenizer, chat
        self.head = {"id": answer_id, "created": created, "model": model}

    def whole(self, rows: Sequence[Row]) -> dict[str, Any]:
        """Return the response to a request that does not stream."""
        answer = {
            **self.head,
            "object": "chat.completion" if self.chat else "text_completion",
            "choices": [self._choice(index, row) for index, row in enumerate(rows)],
            "usage": usage(rows),
        }
        if self.chat and rows[0].sampling.prompt_logprobs is not None:
            answer["prompt_logprobs"] = self.prompt_logprobs(rows[0])
        return answer

    def piece(
        self, index: int, text: str, finish: str | None, scored: list[Scored] | None
    ) -> dict[str, Any]:
        """Return one event of a stream."""
        choice: dict[str, Any] = {"index": index, "finish_reason": finish, "logprobs": None}
        if self.chat:
            choice["delta"] = {"role": "assistant", "content": text}
        else:
            choice["text"] = text
        if scored is not None:
            choice["logprobs"] = self.logprobs(scored)
        kind = "chat.completion.chunk" if self.chat else "text_completion"
        return {**self.head, "object": kind, "choices": [choice]}

    def _choice(self, index: int, row: Row) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": index, "finish_reason": row.finish, "logprobs": None}
        if row.sampling.logprobs is not None:
            choice["logprobs"] = self.logprobs(row.scored)
        if self.chat:
            return {**choice, "message": {"role": "assistant", "content": row.text}}
        if row.sampling.prompt_logprobs is not None:
            choice["prompt_logprobs"] = self.prompt_logprobs(row)
        return {**choice, "text": row.text}

    def _text(self, token: int) -> str:
        return self.tokenizer.decode([token])

    def logprobs(self, scored: list[Scored]) -> dict[str, Any]:
        """Return the log probabilities of the model itself, before temperature and cuts."""
        if not self.chat:
            return {
                "tokens": [self._text(s.token) for s in scored],
                "token_logprobs": [s.logprob for s in scored],
                "top_logprobs": [{self._text(t): p for t, p in s.top} for s in scored],
            }
        return {
            "content": [
                {
                    **self._named(s.token, s.logprob),
                    "top_logprobs": [self._named(*t) for t in s.top],
                }
                for s in scored
            ]
        }

    def _named(self, token: int, logprob: float) -> dict[str, Any]:
        text = self._text(token)
        return {"token": text, "logprob": logprob, "bytes": list(text.encode())}

    def prompt_logprobs(self, row: Row) -> list[dict[str, Any] | None]:
        """Return as vLLM does: None for the first token, then one map per token by token id."""
        lines: list[dict[str, Any] | None] = [None]
        for scored in row.prompt_scored:
            ranked = [(t, p, rank) for rank, (t, p) in enumerate(scored.top, start=1)]
            line = {
                str(token): {"logprob": p, "rank": rank, "decoded_token": self._text(token)}
                for token, p, rank in [*ranked, (scored.token, scored.logprob, scored.rank)]
            }
            lines.append(line)
        return lines


def usage(rows: Sequence[Row]) -> dict[str, int]:
    """Return the tokens of a request: its prompt once, and those of all its choices."""
    prompt = len(rows[0].prompt)
    completion = sum(len(row.tokens) for row in rows)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def error_body(message: str, status: int, param: str | None = None) -> dict[str, Any]:
    """Return an error as the OpenAI API writes it."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": param, "code": status}}
