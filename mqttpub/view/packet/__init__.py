"""One control packet for people and programs: the annotated dump, the JSON record, the text of a payload.

`outline` turns the tree of a packet into *entries*, one per field in wire order; `values` and `payload` put a value
into words; `layout` and `marks` arrange bytes and findings; `dump` joins them, and `show` writes dumps to the screen.
A well-formed packet whose fields an earlier one had is drawn by a `plan`, without a tree of its own.
`masking` decides which bytes are secret, for every view. Offsets count from the first byte of the packet.
"""
