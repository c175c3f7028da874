"""The kernel beside the system's GNU sort, in the C locale."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from types import ModuleType

from hypothesis import given
from hypothesis import strategies as st
from kernel_model import Key, Order, key_text, sorted_lines
from kernel_support import Batch, key_definitions, line_lists, orders, sort_lines, texts
from support import GNU, environment, needs_gnu

pytestmark = needs_gnu


def gnu_sort(options: Sequence[str | bytes], data: bytes) -> bytes:
    command = [*GNU, *options]
    done = subprocess.run(command, input=data, env=environment(), capture_output=True, check=True)
    return done.stdout


def joined(lines: Sequence[bytes], separator: bytes) -> bytes:
    return b"".join(line + separator for line in lines)


def effective(order: Order) -> Order:
    """A key without options of its own takes the global -r."""
    keys = (
        key if key.letters or key.reverse or key.start_blanks or key.end_blanks else key._replace(reverse=order.reverse)
        for key in order.keys
    )
    return order._replace(keys=tuple(keys))


def command_line(order: Order) -> list[str | bytes]:
    """GNU spells a NUL field separator \\0."""
    options = order.options()
    return ["\\0" if option == b"\0" else option for option in options]


@given(data=st.data(), order=orders(), separator=st.sampled_from([b"\n", b"\0"]))
def test_lines_come_out_as_from_gnu_sort(
    kernel: ModuleType, data: st.DataObject, order: Order, separator: bytes
) -> None:
    order = order._replace(separator=separator)
    lines = data.draw(line_lists(60, separator))
    expected = gnu_sort(command_line(order), joined(lines, separator))
    assert joined(sort_lines(kernel, effective(order), lines), separator) == expected


@given(data=st.data(), order=orders(), separator=st.sampled_from([b"\n", b"\0"]))
def test_the_model_agrees_with_gnu_sort(data: st.DataObject, order: Order, separator: bytes) -> None:
    order = order._replace(separator=separator)
    lines = data.draw(line_lists(60, separator))
    expected = gnu_sort(command_line(order), joined(lines, separator))
    assert joined(sorted_lines(effective(order), lines), separator) == expected


def underlined(debug_output: bytes) -> list[bytes]:
    """Of every pair of lines, the part of the first that the second underlines, TABs shown as >."""
    rows = debug_output.split(b"\n")[:-1]
    parts = []
    for text, mark in zip(rows[::2], rows[1::2], strict=True):
        if mark.endswith(b"^ no match for key"):
            parts.append(b"")
        else:
            parts.append(text[mark.index(b"_") : len(mark)])
    return parts


@given(
    key=key_definitions(letters=[""]).map(lambda key: key._replace(reverse=False)),
    lines=st.lists(texts(b"abc, \t", 20), min_size=1, max_size=30),
    field_separator=st.sampled_from([None, b",", b" "]),
)
def test_keys_are_what_gnu_sort_underlines(
    kernel: ModuleType, key: Key, lines: list[bytes], field_separator: bytes | None
) -> None:
    order = Order(keys=(key,), stable=True, field_separator=field_separator)
    shown = underlined(gnu_sort([*order.options(), "--debug"], joined(lines, b"\n")))
    ordered = sorted_lines(order, lines)
    assert shown == [key_text(line, key, field_separator).replace(b"\t", b">") for line in ordered]
    assert shown == [text.replace(b"\t", b">") for text in Batch(kernel, order, ordered).encoded_keys()]
