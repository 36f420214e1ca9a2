"""The spine: plan, collect, record, analyse. Everything right of the recorded evidence is pure and offline."""
