"""Lets ``python -m eigenlens.cli`` stand in for the ``eigenlens`` script."""

from eigenlens.cli import main

if __name__ == "__main__":
    main()
