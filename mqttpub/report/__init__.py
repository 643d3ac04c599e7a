"""The report: questions to the tables of a pipeline, and their answers on a page."""
