"""The queries of a report, in SQL: each reads its table once and returns few rows.

There is a module for each group of questions, like those of `sections/`; `report_answers` asks them all.
"""
