"""Functions of the gallery, written as one writes them anyway."""
