"""What a line of a mosquitto client says, and how it says that it is wrong."""

from ....spec.declare import Property
from ....spec.versions import Version
from ...flags.properties_argument import Setting

PUB, SUB, RR = "pub", "sub", "rr"
"""The three clients."""
NO_RETAINED = 2
"""Retain Handling: retained messages are not sent (5.0: 3.8.3.1)."""


class GrammarError(Exception):
    """A line that the client refuses, with its sentence.

    `gap` is the number of empty lines after it, `with_usage` whether the whole usage follows.
    """

    def __init__(self, message: str, *, gap: int = 0, with_usage: bool = False) -> None:
        super().__init__(message)
        self.gap = gap
        self.with_usage = with_usage


class HelpAsked(Exception):
    """The line contains --help."""


class VersionAsked(Exception):
    """The line contains --version."""


class MosquittoSettings:
    """The options of a line, filled word by word, so that a later one replaces an earlier one.

    What a flag of ours says too has the name of its parameter, so that our requests are made of it.
    """

    def __init__(self, program: str) -> None:
        self.program = program
        self.host = "localhost"
        self.port: int | None = None
        self.unix: str | None = None
        self.bind: str | None = None
        self.proxy: str | None = None
        self.ws = False
        self.mqtt_version = Version.V5 if program == RR else Version.V311
        self.client_id: str | None = None
        self.id_prefix: str | None = None
        self.username: str | None = None
        self.password: bytes | None = None
        self.keep_alive = 60
        """In seconds."""
        self.clean = True
        self.session_expiry_interval: int | None = None
        """In seconds."""
        self.max_inflight = 20
        self.property: list[Setting] = []
        """Properties, in the order of the line."""

        self.will_topic: str | None = None
        self.will_payload: bytes | None = None
        self.will_qos = 0
        self.will_retain = False

        self.cafile: str | None = None
        self.capath: str | None = None
        self.cert: str | None = None
        self.key: str | None = None
        self.ciphers: str | None = None
        self.tls_version: str | None = None
        self.tls_alpn: str | None = None
        self.key_log: str | None = None
        self.os_certs = False
        self.no_tls = False
        self.no_verify_hostname = False
        self.key_form: str | None = None
        self.engine: str | None = None
        self.engine_password_sha1: str | None = None
        self.psk: str | None = None
        self.psk_identity: str | None = None

        self.topics: list[str] = []
        """Topic filters of a subscriber."""
        self.topic: str | None = None
        """Topic of a publisher."""
        self.qos = 0
        self.retain = False
        self.source = ""
        """Where the payload comes from: message, file, stdin, lines or null; empty where nothing says so."""
        self.payload = b""
        self.file = ""
        self.repeat = 1
        self.repeat_delay_s = 0.0

        self.response_topic: str | None = None
        self.latency = False
        self.unsubscribe: list[str] = []
        self.filter_out: list[str] = []
        self.count = 1 if program == RR else 0
        """Messages to receive; 0 for any number."""
        self.wait_s = 0
        """Seconds after which to stop; 0 for never."""
        self.exit_after_suback = False
        self.format: str | None = None
        self.verbose = False
        self.pretty = False
        self.newline = True
        self.no_retain = False
        self.retained_only = False
        self.remove_retained = False
        self.retain_as_published = False
        self.retain_handling: int | None = None
        """What --retain-handling says."""
        self.random_filter = 10_000
        """Chance to show a message, in hundredths of a percent."""
        self.watch = False
        self.message_rate = False

        self.debug = False
        self.quiet = False

    def of(self, packet: str) -> tuple[Property, ...]:
        """Return the properties of a packet; none before 5.0."""
        if self.mqtt_version < Version.V5:
            return ()
        return tuple(Property(each.row.id, each.value) for each in self.property if each.packet == packet)

    @property
    def handling(self) -> int:
        """The Retain Handling of the subscriptions: without --retain-handling, -R asks for no retained messages."""
        return self.retain_handling if self.retain_handling is not None else NO_RETAINED if self.no_retain else 0

    @property
    def name(self) -> str:
        """The name of the client."""
        return f"mosquitto_{self.program}"
