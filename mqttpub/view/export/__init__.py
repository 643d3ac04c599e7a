"""The formats of other tools: tshark, PDML, SARIF."""
