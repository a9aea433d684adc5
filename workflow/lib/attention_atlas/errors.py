"""The one exception whose text is meant for the user."""


class AtlasError(Exception):
    """Something the user can mend: the message names the place (file, line, key) and what to do.

    Job stubs print it without a traceback; every other exception is a fault of the program and keeps its traceback.
    """
