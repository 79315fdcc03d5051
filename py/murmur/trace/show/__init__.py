"""The sections of `mur trace show`, each filled in one pass over the trace."""
