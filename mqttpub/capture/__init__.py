"""Captures and texts: from the bytes of a file to events of MQTT connections.

How a byte becomes an event
---------------------------

    bytes of a file, compressed or not
      | containers   registry.RecordReader: gzip and Zstandard removed; pcap or pcapng
      v
    CaptureRecord    one frame: number, time_ns, link type, captured bytes
      | network      link, ip: the TCP segment in the frame, fragments put together
      |              tcp.Reassembler: segments in the order of their bytes (tcp_side, out_of_order)
      v
    Chunk, Missing, End    the pieces of a Flow, for each side (0 or 1) in order
      | protocol     demux.MqttDemux: one HandlerSlot for each flow, which holds a Handler:
      |                UndecidedConnection   holds pieces until the first bytes decide (detect, resync)
      |                HttpUpgrade, WebSocketConnection, TlsConnection   unpack, and feed a slot of their own
      |                GuessedConnection     MQTT without a CONNECT: holds events until version and client are clear
      |                MqttConnection        MQTT: two MqttSender, one for each side
      |                IgnoredConnection     something else, whose bytes are only counted
      v
    PacketSeen, GapSeen, Closed, Remark    (traffic.events)

`reading.CaptureEvents` runs all of this for one capture. A handler that knows more than itself switches the slot to
another handler, which then gets the pieces that were held. Texts go another way: `text` finds the bytes that somebody
wrote down in one notation (hex, dumps, arrays, base64, transcripts), `logs` those among other words, and
`text.packets` cuts them into the same events.

Where columns and scalar code take turns
----------------------------------------

`columns` reads the same captures many records at a time, and gives the same packets (tests/columns/test_read.py).
There is only one state of a connection, the one here, so either way can continue where the other one stopped:

- `columns.scan` walks from record to record with numpy. A format without such a walk is read through its Container.
- `columns.reassemble` sorts the records of a block by connection. Where the next records of a connection continue it
  exactly (`TcpSide.next`, nothing `waiting`, no flag but ACK) and `MqttDemux.connection` returns its MqttConnection,
  their packets are cut in arrays, and `MqttSender.leap` and `TcpSide.next` move the state past them.
- Every other record goes through `Reassembler.feed` and `MqttDemux.feed`, one by one: SYN, FIN and RST, segments out
  of order or sent again, connections that are undecided, guessed, WebSocket or broken. Then arrays are tried again.

So `MqttSender.begun` (bytes of the packet in progress) and `due` (how many it needs) are what both ways share. The
whole state can be pickled between two records; a pipeline stores it (spark.pipeline.checkpoint).

Invariants: memory is bounded by numbers of connections and bytes, never by a length that a peer declares; peers'
bytes never raise; damage is a BadCapture at the end of the file, after all records that can be read; of each sender
packets and gaps follow one another without a hole. Times are nanoseconds since 1970 (`time_ns`), offsets are bytes.

To add a format of captures, see `containers`. Imports wire, spec, codec, traffic, lint (to recognize packets without
an error) and common only, and no library: no clock, no socket, no click.
"""
