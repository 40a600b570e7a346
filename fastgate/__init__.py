"""fastgate: may this build ship? Verdicts of release gates from noisy measurements, fast and exact."""

from __future__ import annotations

__version__ = "0.1.0"
