"""A form has the text that was drawn, and its slots."""

import pytest

from mqttpub.view.form.form import FILLER, ID, PAYLOAD, SIZE, TOPIC, Form, Slot, opened, shortened


def test_texts_between_slots_are_joined_and_filled() -> None:
    form = Form.of(["a%s", "b", Slot("id 1", ID), Slot("t", TOPIC), "", "%"])
    assert form.parts == ("a%sb", "id 1", "", "t", "%")
    assert [slot.kind for slot in form.slots] == [ID, TOPIC]
    assert form.filled(["id 23", "%d"]) == "a%sbid 23%d%"
    assert form.filler((SIZE, TOPIC, ID))(("never", "%d", "id 23")) == "a%sbid 23%d%"
    with pytest.raises(ValueError, match="size 2"):
        form.filled(["one"])


def test_some_slots_of_a_form_are_filled() -> None:
    form = Form.of([Slot("", ID), " ", Slot("", PAYLOAD), "."])
    some = form.with_parts([["id 7"], opened(f'"{FILLER * 3}...', PAYLOAD)])
    assert some.parts == ('id 7 "', FILLER * 3, "....")
    assert opened("...", PAYLOAD) == ["..."]


def test_a_shortened_slot_remains_one_if_its_values_are_cut_too() -> None:
    topic, id = shortened(Slot("x" * 20, TOPIC), "xx...+18"), shortened(Slot("id 65535", ID), "...+8")
    assert isinstance(topic, Slot)
    assert (topic, topic.kind, topic.room) == ("xx...+18", TOPIC, 8)
    assert (type(id), type(shortened("plain", "p"))) == (str, str)
