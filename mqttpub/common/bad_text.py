"""The error for text that cannot be read, with its place."""


class BadText(ValueError):
    """Text in no known notation, or against the grammar of its own, and the place of the first wrong character."""

    def __init__(self, message: str, line: int = 1, column: int = 1, source: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {message}")
        self.message = message
        self.line = line
        """Counted from 1."""
        self.column = column
        """Counted from 1, in characters."""
        self.source = source
        """The whole line."""
        self.certain = False
        """Whether the text is in the notation in which it was read, and contradicts itself."""
