"""Placeholders: what each stands for, what cannot be, and that everything else stays as it is."""

import re
import uuid
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqttpub.payload.template import Template, TemplateValues

TIME_NS = 1_000_000_000_123_456_789
COLUMNS = ("machine", "Temp (C)", "50%", "twice", "twice", "")


def values(seed: int | None = None) -> TemplateValues:
    made = TemplateValues("me%i", "you", seed=seed, columns=COLUMNS)
    made.begin(7, TIME_NS, [b"m\xff", b"21.5", b"half", b"", b"", b"nameless"])
    return made


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"), ("", ""), ("%i", "7"), ("a/%c/%u/%i", "a/me%i/you/7"), ("50%% of %i", "50% of 7"),
        ("%%i", "%i"), ("%%%i", "%7"), ("{}(i)s %%(i)d ü", "{}(i)s %(i)d ü"),
        ("%d %(time)", "2001-09-09T01:46:40.123456Z 2001-09-09T01:46:40.123456Z"),
        ("%(time s) %(time ms)", "1000000000 1000000000123"),
        ("%(count) %(count 0) %(count 100 5) %(count 10 -2)", "7 6 130 -2"),
        ('{"n":%(count),"t":"%(column Temp (C))"}', '{"n":7,"t":"21.5"}'),
        ("%(column machine)|%(column 50%%)|%(column )", "m\udcff|half|nameless"),
        ("%(random 5 5) %(random -0.50 -0.5) %(random 0.05 0.05) %(random -3 -3)", "5 -0.50 0.05 -3"),
        ("%(choice a|a) %(choice %)%(%|%%|%)%(%|%%) %(choice |)!", "a )(|% !"),
    ],
)  # fmt: skip
def test_placeholders(text: str, filled: str) -> None:
    template = Template(text, values())
    assert template.text() == filled
    assert template.fill() == filled.encode("utf-8", "surrogateescape")


KNOWN = "is none of %i, %d, %c, %u, %%, %(count), %(time), %(random), %(choice), %(uuid), %(column)"
COUNT = "%(count) takes a whole number to start with and a step, such as %(count 100 5)"
RANDOM = "%(random) takes the lowest and the highest number, such as %(random 18.0 24.5)"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a%", f"2: '%' {KNOWN}"), ("50% of", f"3: '% ' {KNOWN}"), ("%%%\n", f"3: '%\n' {KNOWN}"),
        ("ü%(i)d", f"3: '%(i)' {KNOWN}"), ("%()", f"1: '%()' {KNOWN}"), ("%(counts 1)", f"1: '%(counts 1)' {KNOWN}"),
        ("x%u", "2: %u stands for the user name, but there is none"),
        ('{"a":%(random 1 6', "6: '%(' has no ')' that ends it"), ("%(column a%)", "1: '%(' has no ')' that ends it"),
        ("%(count a)", f"1: {COUNT}"), ("%(count 1 2 3)", f"1: {COUNT}"), ("%(count 1.5)", f"1: {COUNT}"),
        ("%(time us)", "1: %(time) takes s or ms, for seconds or milliseconds since 1970"),
        ("%(random)", f"1: {RANDOM}"), ("%(random 1e3 2e3)", f"1: {RANDOM}"), ("%(random nan 1)", f"1: {RANDOM}"),
        ("%(random 6 1)", "1: no number is from 6 to 1"), ("%(random 1.5 1.25)", "1: no number is from 1.5 to 1.25"),
        ("%(choice on)", "1: %(choice) takes values with | between them, such as %(choice on|off)"),
        ("%(uuid 4)", "1: %(uuid) takes nothing else"),
        ("%(column a)", "1: %(column) is a cell of a row of --csv, and what this fills is not made of rows"),
    ],
)  # fmt: skip
def test_a_wrong_placeholder_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is compared
        Template(text, TemplateValues())
    assert str(caught.value) == f"template, byte {said}"


def test_a_column_that_is_lacking_or_there_twice_is_an_error() -> None:
    for name, said in {"Temp": "has no column 'Temp', but 'machine', 'Temp ", "twice": "has 2 columns 'twice'"}.items():
        with pytest.raises(ValueError, match=re.escape(said)):
            Template(f"%(column {name})", values())
    with pytest.raises(ValueError, match=r"'9' and 90 more$"):
        Template("%(column x)", TemplateValues(columns=[str(number) for number in range(100)]))


@given(st.binary(), st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")), st.integers(1))
def test_templates_keep_all_bytes(data: bytes, client_id: str, number: int) -> None:
    escaped = data.replace(b"%", b"%%")
    made = TemplateValues(client_id)
    template = Template(escaped + b"%i%c" + escaped, made)
    made.begin(number, 0)
    assert template.fill() == data + str(number).encode() + client_id.encode("utf-8", "surrogateescape") + data


@given(st.binary().map(lambda data: b"%(" + data), st.lists(st.sampled_from([b"%", b"(", b")", b"|", b"x", b" "])))
def test_any_text_is_a_template_or_a_sentence(data: bytes, tokens: list[bytes]) -> None:
    for text in (data, b"%(choice " + b"".join(tokens)):
        try:
            Template(text, TemplateValues()).fill()
        except ValueError as error:
            assert str(error).startswith("template, byte ")  # noqa: PT017 - most texts are wrong


@given(st.lists(st.text("ab|()% ,{}", max_size=5), min_size=2, max_size=5), st.integers(0, 9))
def test_any_value_can_be_chosen(choices: list[str], seed: int) -> None:
    escaped = "|".join(re.sub(r"[%()|]", r"%\g<0>", choice) for choice in choices)
    assert Template(f"%(choice {escaped})", TemplateValues(seed=seed)).text() == Random(seed).choice(choices)


@given(st.decimals(-999, 999, places=3), st.decimals(-999, 999, places=1), st.integers())
def test_random_numbers_are_in_their_range_with_the_decimals_of_its_ends(
    one: Decimal, other: Decimal, seed: int
) -> None:
    low, high = sorted([one, other])
    text = Template(f"%(random {low} {high})", TemplateValues(seed=seed)).text()
    assert low <= Decimal(text) <= high
    assert Decimal(text).as_tuple().exponent == -3


def test_the_values_of_a_range_are_equally_likely() -> None:
    template = Template("%(random -0.1 0.2)", TemplateValues(seed=1))
    drawn = [template.text() for _ in range(4000)]
    assert {text: drawn.count(text) // 100 for text in sorted(set(drawn))}.keys() == {"-0.1", "0.0", "0.1", "0.2"}
    assert min(drawn.count(text) for text in set(drawn)) > 900


def test_a_seed_repeats_everything_random_and_uuids_are_of_version_4() -> None:
    text = "%(random 1 1000000) %(random 0.000 9.999) %(choice a|b|c|d|e) %(uuid)"
    one, same, other = ([Template(text, made).text() for _ in range(20)] for made in map(values, (1, 1, 2)))
    assert one == same
    assert len({*one, *other}) == 40
    found = uuid.UUID(one[0].split()[-1])
    assert (found.version, found.variant) == (4, uuid.RFC_4122)
