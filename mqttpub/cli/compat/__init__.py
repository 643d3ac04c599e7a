"""The command lines of other clients: their own grammar, defaults, output, messages and exit statuses.

`personality` is the click command that leaves its arguments alone; `mosquitto/` holds mosquitto_pub and its siblings.
Each client reads its line into settings, makes of them the same requests as our own commands, and says the outcome in
its own words. Nothing outside this package knows of them but the registry, by name.
"""
