"""The arithmetic of a week's report: promises, budgets, burn, and what changed.

Pure: counts and sums come from the query library, and go to the report.
"""
