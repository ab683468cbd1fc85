"""sqlanon as a plugin of dbt-duckdb: SQL models can say FROM anon.anonymize(...).

In profiles.yml, next to `type: duckdb`:

    plugins:
      - module: sqlanon.dbt
        config:
          hierarchies:
            zip: {prefix: true}
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.duckdb.plugins import BasePlugin

import sqlanon
from sqlanon.errors import PolicyError


class Plugin(BasePlugin):  # type: ignore[misc]
    """Loads sqlanon on the connection that the models run on, and makes the hierarchies of the profile."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        """Read what the profile says."""
        self.hierarchies = dict(plugin_config.pop("hierarchies", None) or {})
        if plugin_config:
            raise PolicyError(f"sqlanon.dbt: unknown settings {', '.join(plugin_config)} (settings: hierarchies)")

    def configure_connection(self, conn: Any) -> None:
        """Called once, when the database is opened."""
        sqlanon.load(conn)
        for hierarchy, definition in self.hierarchies.items():
            sqlanon.create_hierarchy(conn, hierarchy, **definition, replace=True)
