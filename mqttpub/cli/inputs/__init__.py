"""The inputs that the command lines of `decode` and `lint` name.

`opened` opens them, `files` has several captures read at the same time, each in a process of `jobs`. Must not import
`live` or paho.
"""
