"""Which statements of the specification a broker or a client keeps: cases as data, played one by one, judged by lint.

    cases           what is played against a broker: scripts with their statements, read from `cases/*.toml`
    client_cases    what is played against a client: what its server does, read from `cases/client/*.toml`
    judge           the rules on the connections of one case: what the peer was put to the test on, and what it broke
    framing         what a peer breaks of WebSocket
    offers          what a broker says that it does not offer, or grants less than was asked for
    limits          what is played to find the limits of a broker, read from `limits.toml`
    playing         one case against one broker: its script, the judge, and what it leaves there
    run             all cases of a version against a broker, several at a time, as long as it lives
    limit_search    the limits of a broker: cases with another value each time, until the bound is found
    acting          the act of a case for a client: steps from the moment on at which a packet comes
    client_layers   TLS and WebSocket, where a client begins them
    client_server   the server of a case for a client: the embedded broker, with the act and the judge before it
    command         the command that is a client, run for one case
    client_playing  one case against one client, for a limited time
    client_run      all cases of a version against a client, several at a time
    verdicts        results of cases to verdicts on statements

A case for a broker has two scripts. Where the first, `given`, goes otherwise than it says, the case could not put its
statements to the test. Where the second, `then`, does, the peer broke them.

A case for a client cannot say which packets come: it runs whatever command it is given. So it says what the server does
besides being a correct one: limits, words of CONNACK, and an act, which begins when a packet comes that is like its
`on`. Where that does not come, or a packet that the act marks with `?`, the case could not put its statements to the
test. Where another line of the client is not fulfilled, or one marked with `!` is, the client broke them.

A limit is a script too, played for one value after the other; where it goes to its end, the broker allows the value.

All packets of a case are also judged by `lint`, whose findings at the peer's fault are verdicts too, and whose test
points say which other statements were put to the test.

Each module imports only from those above it, `client_cases` and `judge` not from one another. Times are seconds.
"""
