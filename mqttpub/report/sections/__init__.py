"""The sections of the page, each a function from the answers to HTML.

A section is a sentence on what it shows, a plot, and its numbers as a table. Sections know nothing of
Spark, and nothing of one another.
"""
