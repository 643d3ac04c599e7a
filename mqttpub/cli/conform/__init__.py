"""`conform`: which statements of the specification a broker or a client keeps.

    request   what is asked
    records   verdicts and limits as plain data, which the screen, JSON, JUnit and the page all show
    limits    the words and the table of limits
    run       the run against a broker, and what a run prints
    client    the run against a client
    screen    the lines of the screen
    results   the file of JUnit XML
    page      one run, or several side by side, as a page

Each module imports only from those above it and from `cli.observe`, `cli.step` and `lab.conform`.
"""
