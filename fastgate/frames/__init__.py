"""Files and frames of every kind in; cells and keys out."""
