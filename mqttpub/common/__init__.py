"""What every room needs and no room owns; imports only the standard library, nothing else of mqttpub.

escape       text of a peer as a terminal may show it: the one escaping function
errors       UserError: what the user asked for cannot be done
words        counts with their nouns, thousands separators, shares, sizes in bytes
times        ISO times, seconds, durations; times in nanoseconds since 1970, durations in nanoseconds
files        output files that are written whole or not at all
strict_json  JSON without what Python's parser accepts beyond RFC 8259
quantiles    percentiles of durations in bounded memory
lru          a cache bounded by weight
extras       the packages of each extra, and the command that installs it
system       what Windows lacks: waiting for pipes, locks, signals, groups of processes
deferred_import  modules that a library imports, loaded only when they are used
"""
