"""`transport: process`: a program that runs the model itself, through its process driver.

spec/artifacts.md 5 and 13.
"""
