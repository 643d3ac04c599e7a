"""From the settings of a mosquitto client to the connection they describe."""

import os

from ....live.net.target import Target
from ....live.net.transport import TLS_PORT, Tls, Transport
from ....spec.declare import Property
from ....spec.packets import Connect, Disconnect, Will
from ....spec.properties import RECEIVE_MAXIMUM, WILL
from ....spec.versions import Version
from .settings import MosquittoSettings

TLS_VERSIONS = {"tlsv1.3": "1.3", "tlsv1.2": "1.2", "tlsv1.1": None}
"""Lowest TLS version of each name; versions below 1.2 are never used."""
RANDOM_CHARACTERS = 18
MOST_UNANSWERED = 20
"""Receive Maximum of the clients."""
BAD_USER = "Error: Problem setting username and/or password."
BAD_TLS = "Error: Problem setting TLS options, check the options are valid."
BAD_ENGINE = "Error: Problem setting TLS engine, is {} a valid engine?"
BAD_KEY_FORM = "Error: Problem setting key form, it must be one of 'pem' or 'engine'."


class Unconnectable(Exception):
    """MosquittoSettings that no connection can be made of; the text is the client's sentence."""


def target_of(settings: MosquittoSettings) -> Target:
    """Return where to connect, and with which CONNECT and DISCONNECT; raises Unconnectable."""
    transport = _transport(settings)
    connect = _connect(settings)
    leaving = _properties(settings, "DISCONNECT")
    disconnect = Disconnect(reason_code=0, properties=leaving) if leaving else Disconnect()
    return Target(
        host=settings.host, port=_port(settings), version=settings.version, connect=connect,
        disconnect=disconnect, transport=transport,
    )  # fmt: skip


def _properties(settings: MosquittoSettings, packet: str) -> tuple[Property, ...]:
    return tuple(settings.properties.get(packet, ())) if settings.version == Version.V5 else ()


def publish_properties(settings: MosquittoSettings) -> tuple[Property, ...]:
    """Return the properties of each PUBLISH."""
    return _properties(settings, "PUBLISH")


# CONNECT


def _connect(settings: MosquittoSettings) -> Connect:
    if settings.client_id == "":
        raise Unconnectable("Error: Invalid id.")
    if settings.version < Version.V5 and settings.password is not None and settings.username is None:
        raise Unconnectable(BAD_USER)
    will = None
    if settings.will_topic is not None:
        will = Will(
            topic=settings.will_topic, payload=settings.will_payload or b"", properties=_properties(settings, WILL)
        )
    return Connect(
        client_id=_client_id(settings), keep_alive=settings.keep_alive_s, clean_start=settings.clean,
        username=settings.username, password=settings.password, will=will,
        will_qos=settings.will_qos if will else 0, will_retain=settings.will_retain,
        properties=_connect_properties(settings),
    )  # fmt: skip


def _client_id(settings: MosquittoSettings) -> str:
    if settings.id_prefix is not None:
        return f"{settings.id_prefix}{os.getpid()}"
    if settings.client_id is not None:
        return settings.client_id
    if settings.version > Version.V31:
        return ""
    # MQTT 3.1 lets no server choose the name.
    import random
    import string

    return "mosq-" + "".join(random.choices(string.ascii_letters + string.digits, k=RANDOM_CHARACTERS))


def _connect_properties(settings: MosquittoSettings) -> tuple[Property, ...]:
    if settings.version < Version.V5:
        return ()
    given = list(_properties(settings, "CONNECT"))
    if not any(id == RECEIVE_MAXIMUM.id for id, _ in given):
        given.append(Property(RECEIVE_MAXIMUM.id, min(settings.count or MOST_UNANSWERED, MOST_UNANSWERED)))
    return tuple(given)


# the way there


def _transport(settings: MosquittoSettings) -> Transport:
    if settings.engine is not None:
        raise Unconnectable(BAD_ENGINE.format(settings.engine))
    if settings.unix is not None:
        return Transport(kind="unix", path=settings.unix)
    tls = _tls(settings) if _wants_tls(settings) else None
    way = Transport(tls=tls, proxy=settings.proxy, bind=settings.bind)
    return way._replace(kind="websocket", path="/mqtt") if settings.websocket else way


def _has_authorities(settings: MosquittoSettings) -> bool:
    return settings.ca_file is not None or settings.ca_path is not None


def _wants_tls(settings: MosquittoSettings) -> bool:
    if settings.no_tls:
        return False
    return _has_authorities(settings) or settings.os_certs or settings.port == TLS_PORT


def _tls(settings: MosquittoSettings) -> Tls:
    if settings.key_form not in (None, "pem"):
        raise Unconnectable(BAD_KEY_FORM)
    if settings.tls_version is not None and settings.tls_version not in TLS_VERSIONS:
        raise Unconnectable(BAD_TLS)
    return Tls(
        ca_file=settings.ca_file, ca_path=settings.ca_path, cert=settings.cert, key=settings.key,
        alpn=(settings.alpn,) if settings.alpn else (), minimum=TLS_VERSIONS.get(settings.tls_version or ""),
        ciphers=settings.ciphers, key_log=settings.key_log, any_name=settings.insecure,
    )  # fmt: skip


def _port(settings: MosquittoSettings) -> int:
    if settings.port is not None:
        return settings.port
    return TLS_PORT if _has_authorities(settings) and not settings.no_tls else 1883
