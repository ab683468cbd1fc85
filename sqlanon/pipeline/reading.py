"""What a policy reads: looked up once, and passed on to everything that plans, proves or measures."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlanon.hierarchies.hierarchy import Hierarchies
from sqlanon.pipeline.attribute import Attribute, attributes_of
from sqlanon.pipeline.models import Sensitive, sensitive_of
from sqlanon.pipeline.source import Source
from sqlanon.policy.policy import Policy


@dataclass(frozen=True)
class Reading:
    """A source with its population if k counts it, its quasi-identifiers with their hierarchies, and its sensitive
    columns with the distances between their values."""

    policy: Policy
    source: Source
    attributes: tuple[Attribute, ...]
    sensitive: tuple[Sensitive, ...] = ()

    @classmethod
    def of(cls, policy: Policy, source: Source, hierarchies: Hierarchies) -> Reading:
        """What the policy reads of the source, or an error that names what does not fit."""
        source.resolve_names(policy.identity)
        return cls(
            policy,
            source,
            attributes_of(source, policy, hierarchies),
            sensitive_of(source, policy, hierarchies),
        )

    def over(self, source: Source) -> Reading:
        """The same of a source with the same columns."""
        return replace(self, source=source)

    @property
    def released(self) -> tuple[str, ...]:
        """The columns of a release that its quasi-identifiers become."""
        return tuple(column for attribute in self.attributes for column in attribute.output)
