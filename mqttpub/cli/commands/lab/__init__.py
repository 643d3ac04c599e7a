"""Commands of the laboratory: each module is one, like those of the folder around it."""
