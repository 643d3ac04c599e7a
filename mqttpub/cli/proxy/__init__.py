"""The command `proxy`: what `lab.proxy` does, shown on the terminal, checked and recorded.

`listen` is where clients connect, `run` serves and prints what happens.
"""
