"""The table and bytes: decode with places, decode values only, encode, cut a stream."""
