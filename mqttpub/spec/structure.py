"""Statements about how packets are put together, whatever their type."""

from .constraints import Law, NearlyWellFormed, NoControl, NoJavaForm, NoNull, WellFormed

SHORT = Law("2.1.4/short", "2.2.3/short", "2.1/short")
"""A field runs past the Remaining Length."""
TRAILING = Law("2.1.4/trailing", "2.2.3/trailing", "2.1/trailing")
"""Bytes are left over after the last field."""
LENGTH = Law("1.5.5/length", "2.2.3/length", "2.1/length")
"""A Variable Byte Integer has at most four bytes."""
SHORTEST = Law("1.5.5-1", "2.2.3/shortest", "2.1/shortest")
"""A Variable Byte Integer uses the fewest bytes."""
TYPE = Law("2.1.2/type", "2.2.1/type", "2.1/type")
"""Reserved packet types are not used."""
DIRECTION = Law("2.1.2/direction", "2.2.1/direction", "2.1/direction")
"""Some packets come from one end only."""
NO_PROPERTIES = Law("2.2.2-1")
"""No properties is written as a Property Length of 0."""
PROPERTY_SHORT = Law("2.2.2.1/short")
"""Property Length neither leaves the packet nor cuts a property in half."""
PROPERTY_UNKNOWN = Law("2.2.2.2/unknown")
PROPERTY_PLACE = Law("2.2.2.2/not-allowed")
PROPERTY_TWICE = Law("2.2.2.2/repeated")
BINARY_FRAMES = Law("6.0.0-1", "6.0.0-1", "1/transport")
"""On a WebSocket, MQTT travels in binary frames."""
TRANSPORT = Law("6.0.0/frames", "6.0.0/frames", "1/transport")
"""What carries MQTT can be unwrapped to a stream of bytes."""
WELL_FORMED = Law("1.5.4-1", "1.5.3-1", "2.5/string")
"""Strings are well-formed UTF-8."""
NO_NUL = Law("1.5.4-2", "1.5.3-2")
"""Strings hold no U+0000."""
CONTROL = Law("1.5.4/control", "1.5.3/control")
"""Strings should hold no control characters and no non-characters."""
JAVA = Law(v31="2.5/java")
"""Strings may come from Java's writeUTF."""

STRINGS = (
    WellFormed(Law(WELL_FORMED.v5, WELL_FORMED.v311)),
    NearlyWellFormed(Law(v31=WELL_FORMED.v31)),
    NoJavaForm(JAVA),
    NoNull(NO_NUL),
    NoControl(CONTROL),
)
"""Limits of every string; one of the same class on its own field takes the place of each."""
