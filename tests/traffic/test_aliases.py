"""Topic Aliases: each direction by itself, never a guess, never the later topic."""

from hypothesis import given
from hypothesis import strategies as st

from mqttpub.common.lru import WeightedLru
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Direction
from mqttpub.traffic.aliases import Aliases, Topic
from tests.build.events import ALIAS, CLIENT, SERVER


def publish(topic: str, alias: int | None = None) -> Publish:
    """Return a PUBLISH with an alias."""
    return Publish(topic=topic, properties=() if alias is None else (Property(0x02, 9), Property(ALIAS, alias)))


def test_each_direction_has_its_own_aliases() -> None:
    """Where tshark shows server/topic for the client's alias."""
    aliases = Aliases()
    aliases.resolve(publish("client/topic", 1), CLIENT)
    aliases.resolve(publish("server/topic", 1), SERVER)
    assert aliases.resolve(publish("", 1), CLIENT) == Topic("client/topic", 1)
    assert aliases.resolve(publish("", 1), SERVER) == Topic("server/topic", 1)
    assert aliases.resolve(publish("", 1), None).name is None


def test_a_topic_stays_what_it_was_when_the_alias_gets_another() -> None:
    """Where tshark, reading twice, shows the later topic for earlier packets."""
    aliases = Aliases()
    first = aliases.resolve(publish("first", 1), CLIENT)
    used = aliases.resolve(publish("", 1), CLIENT)
    second = aliases.resolve(publish("second", 1), CLIENT)
    assert [first.name, used.name, second.name] == ["first", "first", "second"]
    assert [first.sets, used.sets, second.sets] == [True, False, True]


def test_an_alias_that_was_never_set_has_no_topic() -> None:
    topic = Aliases().resolve(publish("", 7), CLIENT)
    assert topic == Topic(None, 7)
    assert topic.text == "alias 7 (never set)"


def test_alias_0_means_nothing() -> None:
    aliases = Aliases()
    assert aliases.resolve(publish("a", 0), CLIENT) == Topic("a", 0)
    assert aliases.resolve(publish("", 0), CLIENT).text == "alias 0 (never set)"


def test_without_an_alias_the_topic_name_is_used() -> None:
    assert Aliases().resolve(publish("a"), CLIENT) == Topic("a")
    assert Aliases().resolve(Publish(topic="b", properties=(Property(0x02, 9),)), CLIENT) == Topic("b")
    assert Topic("").text == ""


def test_connections_share_a_table_but_no_aliases() -> None:
    table: WeightedLru[int, str] = WeightedLru(1000)
    one, two = Aliases(table, 1), Aliases(table, 2)
    one.resolve(publish("a", 1), CLIENT)
    assert two.resolve(publish("", 1), CLIENT).name is None
    assert one.resolve(publish("", 1), CLIENT).name == "a"


def test_memory_is_bounded_and_a_dropped_alias_is_marked() -> None:
    aliases = Aliases(WeightedLru(200))
    for number in range(1, 4):
        aliases.resolve(publish(str(number) * 20, number), CLIENT)
    assert aliases.resolve(publish("", 3), CLIENT).name == "3" * 20
    lost = aliases.resolve(publish("", 1), CLIENT)
    assert lost.text == "alias 1 (no longer known)"


@given(st.lists(st.tuples(st.sampled_from(Direction), st.sampled_from(("", "a", "b/c")), st.integers(1, 3))))
def test_aliases_agree_with_a_dictionary(sent: list[tuple[Direction, str, int]]) -> None:
    aliases, model = Aliases(), dict[tuple[Direction, int], str]()
    for direction, name, alias in sent:
        if name:
            model[direction, alias] = name
        assert aliases.resolve(publish(name, alias), direction).name == model.get((direction, alias))
