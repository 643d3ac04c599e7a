"""A signal ends the program at whatever moment it comes."""

import subprocess
import sys

PLACES = """
import os, signal, time, weakref
from mqttpub.cli import signals

class Thing:
    pass

def interrupted(*_):
    os.kill(os.getpid(), signal.SIGINT)
    # Python looks for signals between its instructions.
    sum(number for number in range(1000))

signals.catch()
thing = Thing()
reference = weakref.ref(thing, interrupted)
try:
    del thing
    time.sleep(20)
except KeyboardInterrupt:
    print(signals.word())
"""


def test_a_signal_is_not_lost_where_python_can_raise_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", PLACES], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
