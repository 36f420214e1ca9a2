"""LGP1: whether the logprobs that are reported beside the tokens are those of the target."""
