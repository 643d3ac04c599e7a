"""Many connections in one loop: what the embedded broker, a proxy and a scripted server stand on.

    dialing        connections to elsewhere, made without holding up the loop
    server         a listener, the loop with its timers, and its life, here or in a thread
    served_socket  one socket in the loop: bounded reading, output, and an end that loses nothing
    certificate    a certificate that is made for a server
    layers         TLS and WebSocket on accepted sockets
    websocket      the server's end of a WebSocket, as a socket
    ending         the ends of connections: said to the peer, and put into words
    posting        actions that other threads give to the loop
    timers         actions at their times

Each module imports only from those below it. Nothing here knows MQTT, and a layer is a socket like the one below it:
it does not block, and its errors are those that `live.tap.again` knows. Times are seconds on the clock of the server.
"""
