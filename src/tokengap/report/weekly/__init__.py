"""The weekly report in every form: the values of a week in words, tables and charts."""
