"""The public statistics, vectorised over cells: arrays or cells in, a named result out."""
