"""dither: differential privacy that people can check."""

__version__ = "0.1.0.dev0"
