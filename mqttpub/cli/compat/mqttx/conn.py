"""mqttx conn: a connection that is kept until it is interrupted."""

from contextlib import closing

from ....live.failures import Failure
from ....live.subscribe.subscriber import SubscribeOptions, Subscriber
from ..given import timeout_s
from . import words
from .connection import check_sent, target_of
from .grammar import Values


def run(values: Values) -> None:
    """Connect, and stay connected; raises UserError and Ended."""
    target = target_of(values)
    check_sent(target)
    words.waiting("Connecting...")
    subscriber = Subscriber(target, options=reconnecting(values))
    seen = 0
    try:
        with closing(subscriber.run()) as turns:
            for messages in turns:
                messages.clear()
                if subscriber.connections > seen:
                    seen = subscriber.connections
                    words.done("Connected")
    except Failure as failure:
        raise words.ended(failure, target.version, target.place) from failure
    except KeyboardInterrupt:
        # Ctrl-C is how people end it.
        return


def reconnecting(values: Values) -> SubscribeOptions:
    """Return how often a lost connection is made again."""
    limit = values["maximum_reconnect_times"] if values["reconnect_period"] else 0
    return SubscribeOptions(timeout_s=timeout_s(), reconnects=int(limit), patient=False)
