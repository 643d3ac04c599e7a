"""Which statements of the specification a broker keeps: cases as data, played one by one, judged by lint.

    cases    what is played: scripts with their statements, read from `cases/*.toml`
    judge    the rules on the connections of one case: what the peer was put to the test on, and what it broke
    framing  what the peer breaks of WebSocket
    playing  one case against one peer: its script, the judge, and what it leaves with the broker
    run      all cases of a version, several at a time, as long as the peer lives
    verdicts results of cases to verdicts on statements

A case has two scripts. Where the first, `given`, goes otherwise than it says, the case could not put its statements to
the test. Where the second, `then`, does, the peer broke them. All packets of a case are also judged by `lint`, whose
findings at the peer's fault are verdicts too, and whose test points say which other statements were put to the test.

Each module imports only from those below it in the list above, `cases` and `judge` from none. Times are seconds.
"""
