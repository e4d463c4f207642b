"""All faults, by their names."""

from __future__ import annotations

from tests.robustness import (
    of_clients,
    of_clocks,
    of_clusters,
    of_networks,
    of_servers,
    of_settings,
)
from tests.robustness.catalogue import Fault

_MODULES = (of_clients, of_servers, of_settings, of_networks, of_clocks, of_clusters)

FAULTS = {
    fault.name: fault
    for module in _MODULES
    for fault in vars(module).values()
    if isinstance(fault, Fault)
}
