"""Benchmarks of a broker: many connections at once, one thread each, and what they measured.

    Benchmark            publishers: rate, and the latency of acknowledgements
    DeliveryBenchmark    publishers and subscribers: the latency from publishing to receiving, losses
    ConnectionBenchmark  connections that are opened and held: the latency of CONNACK

Each is a WorkerGroup: it is started, waited for or stopped, and can be read at any time. Latencies are nanoseconds.
"""
