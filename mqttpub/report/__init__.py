"""The report on the tables of a pipeline: on a terminal, as JSON, and as a page of HTML.

- `queries/` ask the tables through Spark SQL; `answers` are their small results, plain values.
- `payloads` looks into payloads in Spark's tasks: kinds, schemas, and Sparkplug B.
- `terminal` prints a Summary; `page` makes HTML from a Summary and Details, with the `sections/` in order.
- `listing` is a table for both, made by the sections; `blocks` are those of the terminal.
- `plots` draws SVG with Vega-Lite, `markup` builds HTML in which every foreign text is escaped.

Times and latencies are in microseconds, as in the tables. The report stands above view and spark: it
must not import cli or click. Texts of peers pass `common.escape` before a terminal or the page shows them.
"""
