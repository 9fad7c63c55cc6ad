"""Qwen-Bailian's traces: turns are put together to conversations."""

from pathlib import Path

from tests.adapters.reading import SAMPLES, read, read_lines
from tokengap.adapters.formats.qwen_bailian import QwenBailian


def line(chat: int, parent: int, turn: int, **changed: object) -> dict[str, object]:
    lengths = {"timestamp": 61.114, "input_length": 521, "output_length": 132}
    return {"chat_id": chat, "parent_chat_id": parent, "turn": turn, **lengths, **changed}


def test_sample() -> None:
    reading = read(QwenBailian(), SAMPLES / "qwen-bailian" / "row_doc.jsonl")
    (row,) = reading.rows
    assert (row["request_id"], row["arrival_ns"]) == ("159", 61_114_000_000)
    assert (row["prompt_tokens"], row["output_tokens"]) == (521, 132)
    assert row["labels"] == [("session", "55"), ("turn", "2"), ("type", "text")]
    assert reading.intake.rejects == []


def test_a_conversation_is_called_after_its_first_chat(tmp_path: Path) -> None:
    # 1 - 2 - 4 is one, 3 another; that of 9 began with a chat before the file.
    chats = [line(1, -1, 1), line(2, 1, 2), line(3, -1, 1), line(4, 2, 3), line(9, 8, 5)]
    rows = read_lines(QwenBailian(), tmp_path, chats).rows
    sessions = {row["request_id"]: dict(row["labels"])["session"] for row in rows}
    assert sessions == {"1": "1", "2": "1", "3": "3", "4": "1", "9": "8"}


def test_a_bad_line_is_rejected(tmp_path: Path) -> None:
    lines = [line(1, -1, 1, timestamp=None), line(2, 1, 2)]
    reading = read_lines(QwenBailian(), tmp_path, lines)
    assert [row["request_id"] for row in reading.rows] == ["2"]
    assert [(r.line, r.field) for r in reading.intake.rejects] == [(1, "timestamp")]
