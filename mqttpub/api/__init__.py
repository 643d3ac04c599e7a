"""The Python interface: what `mqttpub.__all__` names, on the same rooms as the commands.

- `packets`: bytes and packets, properties and Reason Codes by name (decode, encode, dump).
- `check`: packets and conversations judged (check).
- `traffic`: any input as judged packets (read), and a recording of connections that is read the same way (Recorder).
- `messages`: a broker on the line (publish, subscribe). `arrow`: captures as tables (tables).
- `found/pytest_mqttpub` is the pytest plugin; it is copied to the top level of the wheel, so that it imports nothing of
  this package before a test asks for a fixture.

Versions and directions may be given as texts. What cannot be had raises UserError, a ValueError; what goes wrong with a
broker raises a Failure, whose `status` is the exit status that the command would end with. Imports nothing of cli.
"""
