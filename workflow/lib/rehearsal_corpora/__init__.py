"""Generated stand-ins for the corpora and models of the run `paper`, each in the file layout of its distribution.

The English is that of `sample_corpus`. What is added are the layouts (names of files and folders, columns, comments, packing)
and what official files have beside good records: trees with several roots, rows that break off, rows without a label or a text,
files in other languages, byte-order marks, quotation marks that never close.
"""
