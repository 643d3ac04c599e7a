"""Where the tests keep what they read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
CAPTURES = TESTS / "captures"
QOS2 = CAPTURES / "qos2-mosquitto.pcapng"
MORNING = TESTS / "spark" / "morning.pcap.gz"
PLANT = TESTS / "spark" / "plant.pcap.gz"
AFTERNOON = MORNING.with_name("afternoon.pcap.gz")
