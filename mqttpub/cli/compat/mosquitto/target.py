"""From the settings of a mosquitto client to the connection they describe."""

import os

from ....live.net.target import Target
from ....live.net.transport import TLS_PORT
from ....spec.properties import RECEIVE_MAXIMUM, WILL
from ....spec.versions import Version
from ...flags.connect import plain_target
from ...flags.properties_argument import Setting
from ..given import Given
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
    refuse(settings)
    given = Given(vars(settings))
    given |= {
        "port": _port(settings), "client_id": _client_id(settings), "id_prefix": None, "tls": _wants_tls(settings),
        "tls_version": TLS_VERSIONS.get(settings.tls_version or ""),
        "alpn": (settings.tls_alpn,) if settings.tls_alpn else (), "headers": (), "insecure": False,
        "property": _properties(settings), "session_expiry_interval": None,
    }  # fmt: skip
    if settings.will_topic is None:
        given |= {"will_qos": None, "will_retain": None}
    if settings.unix is not None:
        given |= {"tls": False, "ws": False, "proxy": None, "bind": None}
    return plain_target(given)


def refuse(settings: MosquittoSettings) -> None:
    """Raise Unconnectable for settings that no connection can be made of."""
    if settings.engine is not None:
        raise Unconnectable(BAD_ENGINE.format(settings.engine))
    if settings.unix is None and _wants_tls(settings):
        if settings.key_form not in (None, "pem"):
            raise Unconnectable(BAD_KEY_FORM)
        if settings.tls_version is not None and settings.tls_version not in TLS_VERSIONS:
            raise Unconnectable(BAD_TLS)
    if settings.client_id == "":
        raise Unconnectable("Error: Invalid id.")
    if settings.mqtt_version < Version.V5 and settings.password is not None and settings.username is None:
        raise Unconnectable(BAD_USER)


def _client_id(settings: MosquittoSettings) -> str:
    if settings.id_prefix is not None:
        return f"{settings.id_prefix}{os.getpid()}"
    if settings.client_id is not None:
        return settings.client_id
    if settings.mqtt_version > Version.V31:
        return ""
    # MQTT 3.1 lets no server choose the name.
    import random
    import string

    return "mosq-" + "".join(random.choices(string.ascii_letters + string.digits, k=RANDOM_CHARACTERS))


def _properties(settings: MosquittoSettings) -> list[Setting]:
    """Return the properties that are sent: none before 5.0, and none of a will without a topic."""
    if settings.mqtt_version < Version.V5:
        return []
    sent = [each for each in settings.property if each.packet != WILL or settings.will_topic is not None]
    if not any(each.packet == "CONNECT" and each.row == RECEIVE_MAXIMUM for each in sent):
        most = min(settings.count or MOST_UNANSWERED, MOST_UNANSWERED)
        sent.append(Setting("CONNECT", RECEIVE_MAXIMUM, most))
    return sent


def _has_authorities(settings: MosquittoSettings) -> bool:
    return settings.cafile is not None or settings.capath is not None


def _wants_tls(settings: MosquittoSettings) -> bool:
    if settings.no_tls:
        return False
    return _has_authorities(settings) or settings.os_certs or settings.port == TLS_PORT


def _port(settings: MosquittoSettings) -> int:
    if settings.port is not None:
        return settings.port
    return TLS_PORT if _has_authorities(settings) and not settings.no_tls else 1883
