"""What `decode` and `lint` share besides their flags: the inputs named on the command line, the views, the writers.

`views` is the table of views of `decode`, `decode_table` its tables of rows, `findings` the writers of `lint` and
`pub --lint`. Options come in as NamedTuples; click is used only to refuse them. Must not import `live` or paho.
"""
