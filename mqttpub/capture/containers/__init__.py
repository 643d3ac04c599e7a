"""Files of records: pcap, pcapng, compressed ones, and damage in them."""
