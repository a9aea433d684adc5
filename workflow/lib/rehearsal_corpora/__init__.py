"""Generated stand-ins for the corpora and models of the run `paper`, each in the file layout of its distribution.

The English text comes from `sample_corpus`. This package adds the layouts (names of files and folders, columns, comments,
compression) and the irregularities of official files: trees with several roots, incomplete rows, rows without a label or a
text, files in other languages, byte-order marks, unbalanced quotation marks.
"""
