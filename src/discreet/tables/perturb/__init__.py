"""Tables with noise, one file a method: the same contributors carry the same noise wherever they are counted."""

from discreet.tables.perturb.cell_key import CellKey
from discreet.tables.perturb.cell_key_magnitude import CellKeyMagnitude
from discreet.tables.perturb.ezs import EvansZayatzSlanta
from discreet.tables.perturb.layered import LayeredPerturbation
from discreet.tables.perturb.tcm import TopContributors

__all__ = ["METHODS", "CellKey", "CellKeyMagnitude", "EvansZayatzSlanta", "LayeredPerturbation", "TopContributors"]

METHODS: tuple[type, ...] = (LayeredPerturbation, EvansZayatzSlanta, TopContributors, CellKey, CellKeyMagnitude)
