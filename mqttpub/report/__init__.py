"""The report on the tables of a pipeline: on a terminal, as JSON, and as a page of HTML.

- `questions/` has a module for each question: its SQL, the rows of its answer, its lists and sentences; `QUESTIONS` is
  their order. What all are made of is in `question`: a `Question`, the `ReportTables` that it asks, and the `Answers`.
- `answers` asks the questions; `terminal`, `page` and `question.record` (JSON) go through the answers in order.
- `engines/` answers the queries: Spark, or DuckDB in this process.
- `payloads/` looks into payloads, in Spark's tasks or in this process: kinds, schemas, and Sparkplug B.
- `listing` is a table for page and terminal, `sections` and `markup` are what the page is made of, in which every
  foreign text is escaped; `plots` draws SVG with Vega-Lite.

Times and latencies are in microseconds, as in the tables. The report stands above view and spark: it
must not import cli or click. Texts of peers pass `common.escape` before a terminal or the page shows them.
"""
