"""The commands of the laboratory: they drive, send to or stand between the ends of connections."""
