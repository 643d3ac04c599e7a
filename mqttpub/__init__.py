"""Publish MQTT messages and read every byte that goes over the wire.

The map. Each room is a package. The list begins with the foundations: a room imports only from rooms listed before it,
and no modules import one another in a circle. Nothing up to `reading` imports anything but the standard library.

    common     words, numbers, times, escaping, files: what every room needs, nothing of MQTT
    wire       bytes and positions: spans, the cursor, the data types of MQTT
    spec       the specification as data: packets, properties, Reason Codes, statements
    codec      spec + bytes: decode with spans, decode values only, encode, cut a stream into packets
    script     the notation of conversations: text to steps, steps to bytes, packets to text
    traffic    the packets of a connection together: Topic Aliases, exchanges, statistics, filters
    lint       the rules of one packet and of a connection, and the gate before anything is sent
    capture    bytes -> events: containers, network layers, protocol detection, text
    reading    any input -> judged packets: inputs, the one guess of the version, selection
    view       events -> what people and programs read: dump, tables, diagrams, page, exports
    payload    text, JSON, CBOR, MessagePack, Protocol Buffers, Avro
    live       a broker on the line: connection, session, publishing, receiving, outbox
    lab        things to experiment with: players of scripts, conformance, servers, the embedded broker, the proxy
    columns    captures -> Arrow columns, without Spark
    spark      Spark data sources, the pipeline, sessions and workers
    report     questions about tables, their answers as a page and on the terminal
    cli        flags -> a request object -> one call

`live`, `capture`, `view` and `columns` do not import one another, except that `columns` scans what `capture` reads.
`guides/` is text: what `mqttpub help TOPIC` shows.

Journeys, by the names to read in order:

    pub        cli.pub.run.publish, live.publish.publisher.Publisher, live.session.Session, live.incoming.Incoming,
               live.publish.sender.OutgoingMessage, cli.pub.outcome.OutcomeReport
    sub        cli.sub.run.subscribe, live.subscribe.subscriber.Subscriber, live.session.Session,
               live.incoming.Incoming, live.receive.Receiver, cli.sub.run.MessageOutput
    step       cli.step.scripts.opened, script.reader.read_script, lab.player.Player, lab.raw_client.RawClient,
               script.packets.mismatches, cli.step.report.lines
    proxy      cli.proxy.run.proxy, lab.proxy.proxy.ProxyServer, lab.proxy.link.ProxyLink,
               lab.serving.served_socket.ServedSocket, lab.proxy.observed.ObservedBytes, cli.observe.observers.Observers
    conform    cli.conform.run.conform, lab.conform.run.run, lab.conform.playing.play, lab.player.Player,
               lab.conform.judge.CaseJudge, lab.conform.verdicts.verdicts
    replay     cli.replay.run.replay, lab.replay.replay.CaptureReplay, lab.replay.whole.WholeSides,
               lab.replay.side.ClientSide, lab.replay.exchanges.SideExchanges, lab.replay.comparison.SideComparison
    decode     reading.input.open_inputs, capture.protocol.demux.MqttDemux, reading.follow.JudgedTraffic,
               view.packet.plan.RepeatedDumps, codec.decode.decode, view.packet.dump.annotate
    parquet    cli.decode.table.write_table, columns.scan.records.reader,
               columns.reassemble.reassemble.reassemble, columns.decode.decode.decode, columns.files.parquet
    pipeline   spark.pipeline.run.run, spark.pipeline.route.route, spark.pipeline.task.read_buckets,
               columns.reassemble.reassemble.reassemble, columns.decode.decode.decode,
               spark.pipeline.task.pair_slots

`parquet` is `decode --parquet`. The other views of `decode`, such as `--summary`, take its first three steps and then
draw by their row in `cli.decode.views.VIEWS`; `pub --inspect` shows packets by `cli.observe.inspect.Inspector`.
"""

__version__ = "0.1.0"
