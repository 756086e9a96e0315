"""`python -m dither` is the same as `dither`."""

from dither.cli import main

if __name__ == "__main__":
    main()
