"""Certificates, and the settings of a server that speaks TLS with them."""

from __future__ import annotations

from pathlib import Path

import trustme

from tests.proxy import LOOPBACK


def certificate(authority: trustme.CA, folder: Path, name: str) -> dict[str, str]:
    """The settings for a new certificate of this authority, in files of this name."""
    issued = authority.issue_cert(LOOPBACK)
    issued.private_key_pem.write_to_path(folder / f"{name}.key")
    issued.cert_chain_pems[0].write_to_path(folder / f"{name}.cert")
    return {
        "tls-cert-file": f"{folder / name}.cert",
        "tls-key-file": f"{folder / name}.key",
    }


def speaking_tls(folder: Path, port: int) -> tuple[str, ...]:
    """The arguments of a server that does, on this port, and asks no client for a certificate.

    Clients are to trust `folder / "ca"`; the server's own files are called `right`.
    """
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca")
    settings = {
        "tls-port": f"{port}",
        "tls-auth-clients": "no",
        "tls-ca-cert-file": f"{folder / 'ca'}",
        **certificate(authority, folder, "right"),
    }
    return tuple(word for name, value in settings.items() for word in (f"--{name}", value))
