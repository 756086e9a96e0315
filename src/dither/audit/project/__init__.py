"""A whole project is attacked: every question of a description, on neighbouring tables that are made up for it."""

from dither.audit.project.examination import Examined, examine
from dither.audit.project.made_up_tables import Side
from dither.audit.project.mentioned_columns import Inquiry

__all__ = ["Examined", "Inquiry", "Side", "examine"]
