"""The ways to break a packet, by what they break."""

from . import codes as codes
from . import connect as connect
from . import cuts as cuts
from . import flags as flags
from . import lengths as lengths
from . import properties as properties
from . import strings as strings
from . import topics as topics
