"""Statements of classes B* and BL that no rule checks, and why."""

_CLOSED = "A refusal ends in a close whatever its reason; 3.2.2-7 (3.1.1: 3.2.2-5) says so, and is checked."
_CAUSE = "Which code a receiver chooses is its own; nothing shows the cause that it had in mind."
_OTHERS = "Another client may have changed the retained message in between, and nothing limits the time to send it."
_SILENCE = "Silence proves nothing: the end may be gone, and the text sets no time."
_RIGHTS = "Nothing on the connection shows what a client is authorised to do."
_FRAMES = "Frames of a WebSocket are gone when packets are read; the decoder's own tests show that it copes."

NOT_SEEN = {
    "MQTT5-3.1.2-2": "Which versions a server wants, only the server knows.",
    "MQTT5-3.1.2.9/password-alone": "A refusal does not tell what the server took for malformed.",
    "MQTT5-3.1.2.11.4/too-large": _CAUSE,
    "MQTT5-3.1.3-8": _CLOSED,
    "MQTT5-3.1.4-2": _CLOSED,
    "MQTT5-3.2.2-10": "A refused SUBSCRIBE does not tell whether its QoS was the reason.",
    "MQTT5-3.2.2-22": "Nothing shows the time by which a server judges; 3.1.2-22 is checked with the client's.",
    "MQTT5-3.3.1-9": _OTHERS,
    "MQTT5-3.3.4/alias-range": _CAUSE,
    "MQTT5-3.3.4/receive-maximum": _CAUSE,
    "MQTT5-3.4.2.1/short-form": "Nothing shows why an end closed after a short ack.",
    "MQTT5-3.8.4-4": _OTHERS,
    "MQTT5-3.10.4-3": "Whether a delivery had started before UNSUBSCRIBE was read, only the server knows.",
    "MQTT5-4.9.0-3": "An answer that is late is not an answer that is refused.",
    "MQTT5-4.12.0-1": _CLOSED,
    "MQTT5-4.12.0-4": _CLOSED,
    "MQTT5-4.12.1-2": "A re-authentication that failed is told by DISCONNECT or by a close, and either is allowed.",
    "MQTT5-6.0.0-2": _FRAMES,
    "MQTT311-3.1.2-1": "What else a server may speak, only the server knows.",
    "MQTT311-3.1.2-2": "Which levels a server supports, only the server knows.",
    "MQTT311-3.1.2.10/pingresp": _SILENCE,
    "MQTT311-3.1.3-9": _CLOSED,
    "MQTT311-3.1.4/no-connect": _SILENCE,
    "MQTT311-3.1.4/refused": _CLOSED,
    "MQTT311-3.2.0/no-connack": _SILENCE,
    "MQTT311-3.2.2-3": "Whether somebody used the Client Identifier before, only the server knows.",
    "MQTT311-3.3.1-3": "Such a copy has DUP 1 at its first sending, and is found as 4.3.2-1 or 4.3.3-1.",
    "MQTT311-3.3.1-6": _OTHERS,
    "MQTT311-3.3.1-8": "A copy with RETAIN 0 may be of the same message, published again by another client.",
    "MQTT311-3.3.5-2": _RIGHTS,
    "MQTT311-3.8.3-2": "No message need ever match a filter, so that none comes proves nothing.",
    "MQTT311-3.8.4-3": _OTHERS,
    "MQTT311-3.10.4-3": "Whether a delivery had started before UNSUBSCRIBE was read, only the server knows.",
    "MQTT311-6.0.0-2": _FRAMES,
    "MQTT31-2.1/retain-new": _OTHERS,
    "MQTT31-2.2/keepalive-zero": "Nothing shows why a server closed.",
    "MQTT31-2.2/pingresp": _SILENCE,
    "MQTT31-3.1/client-id-refused": "Brokers may take longer identifiers, and most do.",
    "MQTT31-3.1/user-missing": "A refusal does not tell whether the missing field was the reason.",
    "MQTT31-3.1/password-missing": "A refusal does not tell whether the missing field was the reason.",
    "MQTT31-3.1/no-connect": _SILENCE,
    "MQTT31-3.1/no-connack": _SILENCE,
    "MQTT31-3.3/topic-kept": "The topic of a copy with another name cannot be told from another message's.",
    "MQTT31-3.3/unauthorised": _RIGHTS,
    "MQTT31-3.8/unauthorised": _RIGHTS,
    "MQTT31-4.2/broker": _SILENCE,
    "MQTT31-A/slash": "A topic that lost its / cannot be told from another message's topic.",
}
