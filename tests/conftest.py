"""What holds for all tests: properties are tried on the same examples in every run, however busy the machine is."""

from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
