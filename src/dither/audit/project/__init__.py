"""A whole project is attacked: every question of a description, on neighbouring tables that are made up for it."""

from dither.audit.project.examination import Examined, examine
from dither.audit.project.mentioned import Inquiry
from dither.audit.project.tables import Side

__all__ = ["Examined", "Inquiry", "Side", "examine"]
