"""mqttx pub, sub and conn, as MQTTX CLI 1.13 reads them.

`grammar` takes a line apart as MQTTX does: variadic options, optional values, bundles of letters, attached values.
`options` has the options of each command, `configuration` the defaults of ~/.mqttx-cli/config. `connection` makes a
target of the values, `words` says what MQTTX says; `pub`, `sub` and `conn` are the commands.
"""
