"""The ways to break a packet, by what they break."""

from tests.lint.ways import codes as codes
from tests.lint.ways import connect as connect
from tests.lint.ways import cuts as cuts
from tests.lint.ways import flags as flags
from tests.lint.ways import lengths as lengths
from tests.lint.ways import properties as properties
from tests.lint.ways import strings as strings
from tests.lint.ways import topics as topics
