"""What every command that connects shows and checks.

`gate` admits what a request makes a program send. `shown` is what the flags ask to see, a value of each request;
`observers` makes of it what looks at the connections of a run: one display (`inspect`), one check (`watch`) and one
recording (`recorder`), with an observer for each connection.
"""
