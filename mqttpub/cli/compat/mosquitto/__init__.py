"""mosquitto_pub, mosquitto_sub and mosquitto_rr, as their manual pages of 2.1 and the programs of 2.0.11 define them.

`options` and `properties` are the grammar, `files` the files that hold options, `grammar` reads a whole line into
`MosquittoSettings`. `target` makes a connection of them, `failures` the client's sentence and exit status of what went
wrong, `debug` the lines of -d.
"""
