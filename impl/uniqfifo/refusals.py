"""Which answers of a server mean that it certainly did not execute a call.

One table, from the text that a server answers with to a reason. A pattern counts only at the start
of that text, or behind the wrapper that old servers put round an error from inside a script: users,
keys and ids may be named like error codes, and servers quote them further on.
"""

import re

from uniqfifo.errors import Reason

# The code ERR says nothing, and redis-py takes it off. Up to 6.2 an error from inside a script
# comes behind the place where it arose.
_IN_FRONT = (
    r"(?:ERR )?(?:Error running script \(call to f_[0-9a-f]{40}\): )?(?:@user_script: ?\d+: )*-?"
)

_TABLE: dict[str, Reason] = {
    r"WRONGTYPE\b": Reason.WRONG_TYPE,
    r"READONLY\b": Reason.READONLY,
    r"LOADING\b": Reason.LOADING,
    r"BUSY\b": Reason.BUSY,
    r"OOM\b": Reason.OUT_OF_MEMORY,
    r"MISCONF\b": Reason.MISCONF,
    r"NOREPLICAS\b": Reason.NO_REPLICAS,
    r"MASTERDOWN\b": Reason.MASTER_DOWN,
    r"CLUSTERDOWN\b": Reason.CLUSTER_DOWN,
    r"(?:MOVED|ASK|TRYAGAIN)\b": Reason.REDIRECTED,
    r"NOSCRIPT\b": Reason.NO_SCRIPT,
    r"(?:NOAUTH|WRONGPASS)\b": Reason.AUTHENTICATION,
    r"(?:invalid password|Client sent AUTH)": Reason.AUTHENTICATION,
    r"NOPERM\b": Reason.NO_PERMISSION,
    # A command that the user may not run, asked for by a script: 6.0 to 7.0, then from 7.2 on.
    r"The user executing the script can't ": Reason.NO_PERMISSION,
    r"ACL failure in script: ": Reason.NO_PERMISSION,
    # A command that the server does not have, or that was renamed away.
    r"Unknown (?:Redis )?command called from": Reason.UNSUPPORTED_SERVER,
    r"Invalid command passed to (?:redis|server)\.acl_check_cmd": Reason.UNSUPPORTED_SERVER,
    r"unknown command\b": Reason.UNSUPPORTED_SERVER,
    # ZADD NX before 3.0.2; a write after TIME before 3.2.
    r"syntax error": Reason.UNSUPPORTED_SERVER,
    r"Write commands not allowed after non deterministic": Reason.UNSUPPORTED_SERVER,
    r"max number of clients": Reason.TOO_MANY_CLIENTS,
    r"SCORELIMIT\b": Reason.SCORE_LIMIT,
}

_PATTERNS = [(re.compile(_IN_FRONT + pattern), reason) for pattern, reason in _TABLE.items()]

# The client library takes the code off an answer that it has a class for. By name, since valkey-py
# has the same classes, but its own.
_CODES = {
    "ReadOnlyError": "READONLY",
    "BusyLoadingError": "LOADING",
    "OutOfMemoryError": "OOM",
    "NoPermissionError": "NOPERM",
    "NoScriptError": "NOSCRIPT",
    "AuthenticationError": "NOAUTH",
    "MasterDownError": "MASTERDOWN",
    "ClusterDownError": "CLUSTERDOWN",
    "SlotNotCoveredError": "CLUSTERDOWN",
    "MovedError": "MOVED",
    "AskError": "ASK",
    "TryAgainError": "TRYAGAIN",
}


# What it makes of READONLY on a connection that Sentinel manages.
_DEMOTED = "The previous master is now a slave"

# How it prints a Sentinel that it could not ask: the whole client, redis-py 6 with its password.
_SENTINEL = re.compile("<.*> - ", re.DOTALL)

_LOGIN = re.compile(r"(?<=://)[^@\s]*:\S*(?=@)|(?<=password=)[^&\s]+")


def without_secrets(error: BaseException) -> str:
    """What the client library says of a failure, fit to be shown.

    It is cut so generously, up to the last Sentinel's failure, because a password may hold whatever
    else could mark its end.
    """
    return without_password(_SENTINEL.sub("", str(error)))


def without_password(text: str) -> str:
    """Text in which no URL shows who logs in with which password."""
    return _LOGIN.sub("PASSWORD", text)


def server_text(error: BaseException | None) -> str:
    """The answer that the client library made this error from, its code in front again."""
    text = str(error)
    if text == _DEMOTED:
        return f"READONLY {text}"
    kinds = (kind.__name__ for kind in type(error).__mro__)
    code = next((_CODES[kind] for kind in kinds if kind in _CODES), None)
    return f"{code} {text}" if code and not text.startswith(code) else text


def reason_of(error: BaseException) -> Reason | None:
    """Why the server refused, or None if this is no refusal that we know."""
    text = server_text(error)
    return next((reason for pattern, reason in _PATTERNS if pattern.match(text)), None)


def is_refusal_of_the_call(error: BaseException) -> bool:
    """Was this call refused by a server that may serve the next one?

    If so the connection is as good as before. A server that is read-only is not asked again: the
    next call has to find out who the primary is.
    """
    answered = any(kind.__name__ == "ResponseError" for kind in type(error).__mro__)
    return answered and reason_of(error) is not Reason.READONLY
