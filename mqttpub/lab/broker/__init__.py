"""An embedded broker."""
