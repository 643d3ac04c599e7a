"""Rows of a matrix have the text that a form has when it is filled for one thing."""

import numpy as np

from mqttpub.view.form.form import ID, PAYLOAD, TOPIC, Form, Slot
from mqttpub.view.form.matrix import FormRows, PlacedForm, matrix


def test_rows_are_filled_as_one_by_one() -> None:
    wide = Form.of(["\u65e5 ", Slot("xxxx", ID), " ", Slot("xxx", TOPIC), ".", Slot("xx", PAYLOAD)])
    short = Form.of([Slot("xx", ID), "!"])
    ids, topics, payloads = np.array([7, 42, 1234]), b"abcdef", b"....0123"
    kinds, topic_at, payload_at = np.array([1, 1, 0]), np.array([0, 0, 3]), np.array([0, 0, 6])
    made = FormRows([matrix([b"1 ", b"2 ", b"3 "])], [PlacedForm.of(wide), PlacedForm.of(short)], kinds)
    made.write_numbers(ID, ids)
    made.write_bytes(TOPIC, topics, topic_at)
    made.write_bytes(PAYLOAD, payloads, payload_at)
    shown = made.rows.tobytes().translate(None, b"\0").decode()
    wanted = [short.filled(["07"]), short.filled(["42"]), wide.filled(["1234", "def", "23"])]
    assert shown == "".join(f"{number} {text}\n" for number, text in enumerate(wanted, 1))


def test_without_values_rows_are_their_forms() -> None:
    made = FormRows([], [PlacedForm(b"one", {}), PlacedForm(b"other", {})], np.array([1, 0]))
    made.write_numbers(ID, np.array([5, 6]))
    made.write_bytes(TOPIC, b"", np.array([0, 0]))
    assert made.rows.tobytes() == b"other\none\0\0\n"
