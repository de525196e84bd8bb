"""What a person reads, in seven languages: one table each, ``en.json`` is the source.

To add a string, add **one line with the same key at the same place of every table**:

* ``page``: what the page says; in the front end ``t("key", {name: value})``.
* ``narrator``: a sentence of an event; in ``view/sentences.py`` ``said("key", name=value)``.
* ``kernel``: a text that Python made in English: a notice, an error's message or its advice. The
  code that makes it stays as it is: a text, or a sentence of it, that is like the English line is
  shown as the line of the table. ``{said}`` stands for anything, any other name for what does
  not go over the end of a sentence.
* ``export``: what stands where no live view can be.

``{name}`` is put in by name; numbers are written as the language writes them. A string that counts
is an object of plural forms (``one``, ``other``, ... by CLDR) chosen by ``count``; a table has the
forms that ``plural.FORMS`` lists. What a model, a tool or a person wrote is never translated, and
exceptions that only code meets stay English. ``tests/view/test_locale.py`` names what a table lacks
or has too much, and each text of the code that can reach a page and is in none.
"""
