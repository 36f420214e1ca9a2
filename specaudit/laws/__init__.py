"""The target law in each context, processed by the audit itself. Shares no code with the decoder."""
