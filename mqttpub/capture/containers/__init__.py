"""File formats of captures: from the bytes of a file to CaptureRecords.

Each module with a `CONTAINER` is a format; to add one, write a module with a function that recognizes the first 12
bytes, a generator of CaptureRecords, and the CONTAINER that names both. The command line, the columns and the pipeline
find it through `registry`. `Buffer` reads ahead without trusting lengths; `gaps` finds the next record after damage.
"""
