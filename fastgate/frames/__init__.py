"""Files, Arrow and other people's frames in; cells with keys out."""

from __future__ import annotations

from fastgate.frames.intake import pack, read_samples
from fastgate.frames.reading import read_frame
from fastgate.frames.samples import CaseFaults, CellMoments, Samples, case_faults

__all__ = ["CaseFaults", "CellMoments", "Samples", "case_faults", "pack", "read_frame", "read_samples"]
