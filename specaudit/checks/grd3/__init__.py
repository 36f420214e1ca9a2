"""GRD3: stop, EOS and cap equality."""
