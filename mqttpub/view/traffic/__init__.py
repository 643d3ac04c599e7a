"""Many packets: one line each, one line per exchange, statistics, findings, as screens and as JSON.

`facts` has the short texts about a packet that lines, diagrams and the page share.
"""
