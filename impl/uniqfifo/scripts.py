"""The Lua scripts, one file each in `lua/`, whose headers say what they take and answer."""

from dataclasses import dataclass
from hashlib import sha1
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Script:
    """A script's text, and the SHA-1 under which a server remembers it."""

    name: str
    text: str
    sha: str


def _load(name: str) -> Script:
    text = files("uniqfifo").joinpath("lua", f"{name}.lua").read_text("utf-8")
    return Script(name, text, sha1(text.encode(), usedforsecurity=False).hexdigest())


LIST_ENQUEUE = _load("list_enqueue")
ZSET_ENQUEUE = _load("zset_enqueue")
ZSET_STRICT_ENQUEUE = _load("zset_strict_enqueue")
ZSET_DEQUEUE = _load("zset_dequeue")
MIGRATE = _load("migrate")
ROLLBACK = _load("rollback")
LIST_POSITION = _load("list_position")
EVICTION = _load("eviction")
