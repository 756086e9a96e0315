"""Attack a mechanism by its answers: a search for events that neighbouring inputs make too unequally likely."""
