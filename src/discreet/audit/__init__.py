"""The independent proof; never imports the protection."""

from discreet.audit.examine import audit
from discreet.audit.publish import publish
from discreet.audit.result import Audit

__all__ = ["Audit", "audit", "publish"]
