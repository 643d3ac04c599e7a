"""Checks of one packet by itself.

`check.lint` joins three sources: what the decoder found (`specific` cites the most specific statement), single values
and properties against the tables of `spec` (`values`), and rules across fields (`rules`). They see the packet as a
`PacketView`. `fast.is_clean` is a quick proof that there is nothing to find. `judge.PacketJudge` reads packet after
packet with it, and judges many messages at once by the head that they share. `malformed` names the finding that makes a
packet malformed. This package imports none of them, so that sending a packet that is clean loads only `fast`.
"""
