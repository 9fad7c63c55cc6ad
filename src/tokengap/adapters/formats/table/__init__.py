"""Any other table, by a map that says what its columns mean."""
