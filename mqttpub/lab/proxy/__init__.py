"""Between clients and a broker: bytes pass as they are, and are seen, recorded and changed only on request.

    proxy      accepts clients and makes a ProxyLink for each
    link       a client and its connection to the broker: both directions, both ends, what slows and ends them
    intercept  packets that are held until the user says what becomes of them
    observed   what passes, shown to an observer as bytes and as packets

A ProxyLink stands on two sockets of `lab.serving`. Bytes are cut into packets only where somebody looks at packets.
Directions are named by the end that sends.
"""
