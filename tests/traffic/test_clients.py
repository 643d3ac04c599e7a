"""Client Identifiers by connection."""

from mqttpub.codec.decode import decode_packet
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connack, Connect, Pingreq
from mqttpub.traffic.clients import Clients, display_name
from mqttpub.traffic.events import Endpoints, PacketSeen
from tests.build.events import Dialog


def follow(talk: Dialog) -> Clients:
    """Return the clients after a conversation."""
    clients = Clients()
    for event in talk.events:
        assert isinstance(event, PacketSeen)
        clients.packet(event, decode_packet(event.data, event.version))
    return clients


def test_connect_tells_it() -> None:
    talk = Dialog().client(Connect(client_id="a"), Pingreq())
    clients = follow(talk)
    assert clients.name(talk.ends) == "a"
    assert clients.name(Dialog(2).ends) == ""
    clients.end(talk.ends)
    assert clients.name(talk.ends) == ""


def test_the_server_may_assign_it() -> None:
    talk = Dialog().client(Connect(client_id="")).server(Connack(properties=(Property(0x12, "auto-7"),)))
    assert follow(talk).name(talk.ends) == "auto-7"


def test_what_to_call_a_client() -> None:
    assert display_name("a", Endpoints(1, "10.0.0.1:9", "s")) == "a"
    assert display_name("", Endpoints(1, "10.0.0.1:9", "s")) == "10.0.0.1:9"
    assert display_name("", Endpoints(3, "", "")) == "connection 3"
