"""The nouns of an audit: frozen records and their JSON and TOML forms. No I/O happens here."""
