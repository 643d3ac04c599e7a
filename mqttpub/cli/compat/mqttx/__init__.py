"""mqttx pub, sub, conn and bench, as MQTTX CLI 1.13 reads them.

`grammar` takes a line apart as MQTTX does: variadic options, optional values, bundles of letters, attached values.
`options` has the options of each command, `saved` what -so and -lo and ~/.mqttx-cli/config hold. `connection` makes a
target of the values, `words` says what MQTTX says; `pub`, `sub`, `conn` and `bench` are the commands.
"""
