"""A proxy as a whole: how many connections it takes, what it shows and when, and its end."""

from mqttpub.lab.broker.server import Broker
from mqttpub.spec.packets import Pingreq, Pingresp
from tests.lab.proxy.proxies import NotingProxy
from tests.lab.serving.clients import connected, everything
from tests.lab.sockets import Wire, eventually


class Gathering:
    """Gathers packets, and notes that it had to show them."""

    def __init__(self) -> None:
        self.waits = 0
        self.shown = 0

    def __call__(self, now: float, frame: object) -> None:
        self.waits += 1

    def show_in_s(self) -> float | None:
        """Return when what waits is to be shown."""
        return 0.05 if self.waits else None

    def flush(self) -> None:
        """Show what waits."""
        self.shown, self.waits = self.shown + self.waits, 0


def test_a_client_too_many_is_turned_away_until_another_is_gone() -> None:
    with Broker() as broker, NotingProxy(broker.port, most_connections=2) as proxy:
        with Wire(proxy.port) as one, Wire(proxy.port) as two:
            one.connect("one")
            two.connect("two")
            with connected(proxy.port) as third:
                assert everything(third, 1) == b""
            # The proxy notes it after it has closed the socket.
            assert eventually(lambda: any(each.kind == "refused" for each in proxy.events))
            (refused,) = [each for each in proxy.events if each.kind == "refused"]
            assert refused.words.endswith("was turned away: 2 connections are open")
            assert one.ask(Pingreq()) == Pingresp()
        assert eventually(lambda: not proxy.links)
        with Wire(proxy.port) as wire:
            wire.connect("third")
    assert [each.label for each in proxy.events if each.kind == "opened"] == ["1", "2", "3"]


def test_what_is_gathered_is_shown_when_it_is_due() -> None:
    shows = Gathering()
    with (
        Broker() as broker,
        NotingProxy(broker.port, observe=lambda label: shows, shows=shows) as proxy,
        Wire(proxy.port) as wire,
    ):
        wire.connect("c")
        assert eventually(lambda: shows.shown == 2)


def test_the_end_of_the_proxy_closes_both_ends_and_says_so() -> None:
    with Broker() as broker, NotingProxy(broker.port) as proxy, Wire(proxy.port) as wire:
        wire.connect("c")
        proxy.stop()
        assert wire.next() is None
        assert eventually(lambda: not broker.clients)
        assert proxy.ends() == ["closed by the proxy"]
        assert not proxy.links
        assert not proxy.sockets
