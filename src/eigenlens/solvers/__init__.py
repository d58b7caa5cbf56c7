"""One algorithm a file: plain functions on checked arrays that return one frozen result."""
