"""Any input as events: for those that do not care whether it is a capture, a transcript or a text."""
