"""Tables for readers of Delta Lake and Apache Iceberg, whose logs name the files that belong to a table.

A log follows: the manifest of the folder says which files a table has, and `logs.follow` brings the log in line with it
in one commit. As only the difference is written, that can be repeated from any point. `delta` and `iceberg` do it
with the packages of these formats, which are extras.
"""
