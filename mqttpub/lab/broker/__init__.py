"""A small MQTT broker on loopback, for experiments and for `pub --embedded`.

    server       the sockets of clients, on `lab.serving`
    client       one client and its socket; faulted: with fault rules between the two
    dispatch     received bytes to packets, each to its handler
    connect      CONNECT; handlers: every other packet
    connection   the state of one Network Connection and what is written to it
    hub          what connections share: sessions, subscriptions, retained messages, wills
    session      what outlives a connection: queued and unacknowledged messages

Each module imports only from those below it. Times are seconds on the hub's clock; sizes are bytes, bounded by
`limits.Limits`. Whatever a client sends, `dispatch.receive` raises nothing. Only the first three know sockets.
"""
