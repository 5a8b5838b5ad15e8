"""What rowsocket-exporter and rowsocket-top have in common."""
