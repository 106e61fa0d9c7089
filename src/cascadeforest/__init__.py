"""Deep forests: deep models made of decision forests, without back-propagation."""

from cascadeforest._version import __version__

__all__ = ["__version__"]
