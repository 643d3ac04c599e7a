"""Files and folders on any storage, named by a path or a URL, and opened by the process that needs them.

- `files` opens and finds files: `pyarrow.fs` for S3, GCS, Azure and HDFS, `fsspec` for what else it knows.
- `objects` replaces a small object of S3, GCS or Azure on condition that nobody else did: `obstore`.
- `folder` is a folder to write to.
- `lock` keeps a second writer out of a folder.

A path or URL pickles; a file system does not, so each process makes its own, once. Credentials come from
the environment, as usual for each storage, and never from a URL. Nothing here knows MQTT or Spark.
"""
