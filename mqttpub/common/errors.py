"""The error that is not a bug: what the user asked for cannot be done."""


class UserError(ValueError):
    """What the user asked for cannot be done; the message is one sentence that says why.

    The command line shows it as a usage error, with exit status 2. Rooms below `cli` raise it because they know
    nothing of click.
    """
