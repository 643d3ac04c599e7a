"""What all connections share: sessions, subscriptions, retained messages, wills."""

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ...spec.packets import Subscription
from ...traffic.topics import split_shared
from ..serving.timers import Timers
from .limits import LIMITS, Limits
from .message import Delivery, Message
from .refusal import FILTER, NO_SUBSCRIBERS, QUOTA, SUCCESS, TOPIC
from .session import FOREVER, BrokerSession, Link
from .subscriptions import Grant, Grants, Retained, Subscriptions

OnEvent = Callable[[str, str, str], None]
"""Called with the kind of event, a Client Identifier and a sentence; the last two hold text as the client sent it."""
CLOSED = ("$SYS/", "$share/")
"""Topics reserved for the broker, which publishes nothing to them."""


class Connection(Link, Protocol):
    """What the hub and the server need of a connection."""

    session: BrokerSession | None
    closing: str | None
    """Why the connection ends, once it does."""

    def dismiss(self, code: int, text: str) -> None:
        """Close, with the Reason Code if the version has a packet for it."""

    def lost(self, why: str) -> None:
        """Note that the connection is gone."""


class Hub:
    """The broker without its sockets."""

    def __init__(
        self, clock: Callable[[], float], *, limits: Limits = LIMITS, on_event: OnEvent | None = None,
        users: Mapping[str, bytes] | None = None,
    ) -> None:  # fmt: skip
        self.clock = clock
        self.limits = limits
        self.users = users
        """Passwords by User Name; None accepts everyone."""
        self.on_event = on_event
        self.timers = Timers()
        self.sessions: dict[str, BrokerSession] = {}
        self.subscriptions = Subscriptions()
        self.retained = Retained(limits.retained)
        self.dirty: dict[Connection, None] = {}
        """Connections with something to write or to close, for the server."""
        self._assigned = 0

    def event(self, kind: str, client_id: str, text: str) -> None:
        """Report an event to `on_event`, if there is one."""
        if self.on_event:
            self.on_event(kind, client_id, text)

    # sessions

    def new_id(self) -> str:
        """Return a Client Identifier that no session has (5.0: 3.1.3-6)."""
        while True:
            self._assigned += 1
            client_id = f"assigned{self._assigned}"
            if client_id not in self.sessions:
                return client_id

    def full(self, client_id: str) -> bool:
        """Whether another session, that of this client, would be one too many."""
        return client_id not in self.sessions and len(self.sessions) >= self.limits.sessions

    def attach(self, client_id: str, clean: bool) -> tuple[BrokerSession, bool]:
        """Return the session of a client that connects, and whether it was there before."""
        session = self.sessions.get(client_id)
        if session and session.link:
            session.link.taken_over()
        session = self.sessions.get(client_id)
        if session and clean:
            self.forget(session)
            session = None
        present = session is not None
        if session is None:
            session = self.sessions[client_id] = BrokerSession(client_id, self.limits, self.clock)
        self.timers.cancel((session, "expiry"))
        self.timers.cancel((session, "will"))
        session.will = None
        return session, present

    def detach(self, session: BrokerSession) -> None:
        """Keep a session whose connection is gone; publish or schedule its will (5.0: 3.1.2.5)."""
        session.link = None
        now = self.clock()
        if not session.expiry:
            self.forget(session)
        elif session.expiry != FOREVER:
            self.timers.set((session, "expiry"), now + session.expiry, lambda: self.forget(session))
        if session.will and session.will_delay:
            self.timers.set((session, "will"), now + session.will_delay, lambda: self.bequeath(session))
        else:
            self.bequeath(session)

    def forget(self, session: BrokerSession) -> None:
        """Forget a session; its will is due now at the latest (5.0: 3.1.3.2.2)."""
        self.timers.cancel((session, "expiry"))
        self.timers.cancel((session, "will"))
        for pattern in session.filters:
            self.subscriptions.remove(pattern, session.client_id)
        if self.sessions.get(session.client_id) is session:
            del self.sessions[session.client_id]
        self.bequeath(session)

    def bequeath(self, session: BrokerSession) -> None:
        """Publish the will of a session, if it has one, and forget it."""
        will, session.will = session.will, None
        if will:
            will.arrived = self.clock()
            self.event("will", session.client_id, will.topic)
            self.publish(will)

    # subscriptions

    def subscribe(self, session: BrokerSession, wanted: Subscription, identifier: int | None) -> int:
        """Make a subscription; return the granted QoS or why not."""
        if wanted.filter.count("/") >= self.limits.levels:
            return FILTER
        if wanted.filter not in session.filters and len(session.filters) >= self.limits.subscriptions:
            return QUOTA
        qos = min(wanted.qos, self.limits.qos)
        grant = Grant(session.client_id, qos, wanted.no_local, wanted.retain_as_published, identifier)
        self.subscriptions.add(wanted.filter, grant)
        session.filters.add(wanted.filter)
        return qos

    def unsubscribe(self, session: BrokerSession, pattern: str) -> bool:
        """End a subscription; return whether there was one."""
        session.filters.discard(pattern)
        return self.subscriptions.remove(pattern, session.client_id)

    def send_retained(self, session: BrokerSession, wanted: Subscription, qos: int, identifier: int | None) -> None:
        """Send the retained messages that a new subscription matches."""
        if split_shared(wanted.filter)[0]:
            return
        for message in self.retained.matching(wanted.filter, self.clock()):
            if not (wanted.no_local and message.publisher == session.client_id):
                self._offer(session, _delivery(message, qos, True, (identifier,)))

    # messages

    def accepts(self, topic: str) -> bool:
        """Whether clients may publish to a topic."""
        return not topic.startswith(CLOSED) and topic.count("/") < self.limits.levels

    def publish(self, message: Message) -> int:
        """Keep and forward a message; return the Reason Code for its publisher."""
        if not self.accepts(message.topic):
            return TOPIC
        if message.retain and not self.retained.keep(message):
            return QUOTA
        return SUCCESS if self._route(message) else NO_SUBSCRIBERS

    def _route(self, message: Message) -> int:
        """Forward a message once to each session with a matching subscription; return their number."""
        own: dict[str, list[Grant]] = {}
        shared: list[Grant] = []
        for name, grants in self.subscriptions.matching(message.topic):
            if name:
                shared.append(self._next_of(grants))
                continue
            for client_id, grant in grants.items():
                if not (grant.no_local and client_id == message.publisher):
                    own.setdefault(client_id, []).append(grant)
        for wanted in (*own.values(), *([grant] for grant in shared)):
            keep = message.retain and any(grant.keep_retain for grant in wanted)
            identifiers = (grant.identifier for grant in wanted)
            highest = max(grant.qos for grant in wanted)
            self._offer(self.sessions[wanted[0].client_id], _delivery(message, highest, keep, identifiers))
        return len(own) + len(shared)

    def _next_of(self, grants: Grants) -> Grant:
        """Return the next client of a Shared Subscription in turn; connected ones come first."""
        chosen = next((each for each in grants if self.sessions[each].online), next(iter(grants)))
        grants[chosen] = grant = grants.pop(chosen)
        return grant

    def _offer(self, session: BrokerSession, delivery: Delivery) -> None:
        if not session.offer(delivery) and (delivery.qos or session.online):
            self.event("drop", session.client_id, f"a message for {delivery.message.topic}")


def _delivery(message: Message, qos: int, retain: bool, identifiers: Iterable[int | None]) -> Delivery:
    return Delivery(message, min(message.qos, qos), retain, tuple(each for each in identifiers if each is not None))
