"""Text that many things have in common, with slots for the values in which they differ.

A *form* is made by the renderer that draws one of them: it draws `Slot`s in place of values, and says what it did to
them. It is filled for one thing by a format, or for thousands at a time as rows of a matrix of bytes (`matrix`, which
needs numpy).
"""
