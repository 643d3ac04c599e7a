"""All probes of a broker, in the order of their report."""

from collections.abc import Iterator

from ...spec.versions import Version
from . import connecting, publishing, subscribing
from .result import ProbeResult
from .trial import Prober


def probe(prober: Prober) -> Iterator[ProbeResult]:
    """Yield one result after the other, as they are found out; raises a Failure where the broker cannot be reached.

    Where not even a plain CONNECT is accepted, there is nothing to probe beyond the versions.
    """
    yield from connecting.versions(prober)
    plain = prober.connected()
    if not plain.works:
        return
    connack = plain.value
    yield from connecting.client_identifiers(prober)
    yield from connecting.sessions(prober)
    highest = publishing.maximum_qos(prober, connack)
    yield highest
    # Only an acknowledged message can be refused by name; without QoS 1, a PINGRESP shows that it was taken.
    qos = min(1, highest.seen or 0)
    yield from publishing.retaining(prober, connack, qos)
    yield from publishing.topics(prober, connack, qos)
    yield from publishing.sizes(prober, connack, qos)
    yield from subscribing.granted(prober)
    yield from subscribing.filters(prober, connack)
    if prober.version == Version.V5:
        yield from publishing.aliases(prober, connack)
        if highest.seen == 2:
            yield from publishing.in_flight(prober, connack)
