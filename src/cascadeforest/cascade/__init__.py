"""Deep forests: policies over shared layers (`layer`), one model a file."""
