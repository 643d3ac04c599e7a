"""What decode and lint share: inputs, selection, views."""
