"""Finding out what a broker allows by trying it, each time over a connection of its own.

    Prober         makes the connections of a probe, and says what became of each Trial
    ProbeResult    one limit: what CONNACK declares, what was seen, and whether the two agree
    TrialSession   a session whose messages are acknowledged one by one, and whose arrivals can be awaited

`connecting`, `publishing` and `subscribing` hold the probes, each a function from a Prober to results. They publish
only below one topic that nobody else uses, remove what they retain, and send no will.
"""
