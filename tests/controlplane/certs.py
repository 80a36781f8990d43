"""Makes the certificates of a plane: its CA, the API server's certificate, what Crossplane's CA signs."""

from __future__ import annotations

import datetime as dt
import ipaddress
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

_LIFETIME = dt.timedelta(days=30)


@dataclass(frozen=True)
class Pair:
    """A certificate and its private key, both PEM."""

    cert: bytes
    key: bytes

    def write(self, folder: Path, ca: bytes) -> None:
        """Write ca.crt, tls.crt and tls.key, the layout of a Kubernetes TLS Secret mounted as a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in (("ca.crt", ca), ("tls.crt", self.cert), ("tls.key", self.key)):
            (folder / name).write_bytes(data)
            (folder / name).chmod(0o600)


def private_key() -> bytes:
    """Return a new RSA key (PEM), the kind that Kubernetes signs service account tokens with."""
    return _pem(rsa.generate_private_key(public_exponent=65537, key_size=2048))


def authority(name: str) -> Pair:
    """Return a self-signed CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = _builder(subject, subject, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    return Pair(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _pem(key))


def signed(ca: Pair, names: list[str]) -> Pair:
    """Return a server certificate for DNS names and IP addresses, signed by `ca`."""
    key = ec.generate_private_key(ec.SECP256R1())
    with warnings.catch_warnings():
        # Crossplane's own CA says that its country is "Earth", which is not two letters.
        warnings.simplefilter("ignore", UserWarning)
        issuer = x509.load_pem_x509_certificate(ca.cert).subject
    signer = serialization.load_pem_private_key(ca.key, password=None)
    if not isinstance(signer, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise TypeError(f"a CA key of type {type(signer).__name__} is not supported")
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    alternatives = x509.SubjectAlternativeName([_general_name(name) for name in names])
    builder = _builder(subject, issuer, key).add_extension(alternatives, critical=False)
    return Pair(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM), _pem(key))


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(minutes=5))
        .not_valid_after(now + _LIFETIME)
    )


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
