"""What several log formats have in common."""
