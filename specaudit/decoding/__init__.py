"""The reference speculative decoder, in numpy: small, exact, and in the field's own words."""
