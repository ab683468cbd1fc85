"""The numpy cores. In a wheel they are next to this file; in a checkout they are the top-level folder udfs/."""

from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]

if (_ROOT / "udfs" / "problem.py").exists() and (_ROOT / "pyproject.toml").exists():
    __path__ = [str(_ROOT / "udfs")]
