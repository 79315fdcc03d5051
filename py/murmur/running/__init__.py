"""The capsules that run on this machine: their records, and how a command names one of them.

A session writes a record while it runs; a reader takes it for a hint and looks at the process.
"""
