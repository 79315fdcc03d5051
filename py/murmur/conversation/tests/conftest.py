"""Property tests here give the same verdict on every run, however slow the machine."""

from hypothesis import settings

settings.register_profile("everyday", deadline=None, derandomize=True, database=None)
settings.load_profile("everyday")
