"""The atlas: one row a head over all studies, what measures have to do with each other, and findings across papers."""
