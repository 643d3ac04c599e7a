"""The checks of all subjects, loaded in the order in which a packet meets them.

An identifier is taken before what is in flight is counted; an alias is resolved before its topic leads anywhere.
"""

# isort: off
from . import connect as connecting, authenticate as authenticating, keepalive
from . import publish as publishing, acks as acknowledging, limits, aliases
from . import subscribe as subscribing, deliver as delivering, loopback, close as closing

ORDER = (
    connecting, authenticating, keepalive, publishing, acknowledging, limits, aliases, subscribing, delivering,
    loopback, closing,
)  # fmt: skip
