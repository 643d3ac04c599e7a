"""Things to try MQTT with: the embedded broker.

Nothing here is for production. `lab` uses codec and lint as any broker would, and is imported only by the commands
`broker`, `walkthrough` and by `pub --embedded`.
"""
