"""The numpy cores. In a wheel they lie beside this file; in a checkout they are the top-level folder udfs/."""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2] / "udfs"

if not (Path(__file__).parent / "problem.py").exists():
    __path__ = [str(_CHECKOUT)]
