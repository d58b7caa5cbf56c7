"""Rows in blocks: tables from files and arrays, scaled and written, without holding them whole.

Nothing is imported here: estimators need to know blocks, but not pyarrow, which reads files.
"""
