"""The checks of all subjects, loaded in the order in which a packet meets them.

An identifier is taken before what is in flight is counted; an alias is resolved before its topic leads anywhere.
"""

# isort: off
from . import connecting, authenticating, keepalive
from . import publishing, acknowledging, limits, aliases
from . import subscribing, delivering, loopback, closing

ORDER = (
    connecting, authenticating, keepalive, publishing, acknowledging, limits, aliases, subscribing, delivering,
    loopback, closing,
)  # fmt: skip
