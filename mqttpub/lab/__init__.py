"""Things to try MQTT with: scripts played as either end, captures played again, and the embedded broker.

    scripted     the server's end of scripts; player: either end; raw_client: a connection without any policy
    replay       the client sides of captures, played again
    broker       a small broker
    faults       packets that are broken on their way, by rules
    proxy        what lies between clients and a broker
    serving      the loop, the listener and the layers that the broker and other servers stand on

Nothing here is for production.
"""
