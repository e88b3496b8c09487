"""
TLS: the reasons why it fails, and certificates that violate RFC 5280.

From Python 3.13 on, a certificate must follow RFC 5280 (``ssl.VERIFY_X509_STRICT``). Many private
CAs do not: `openssl req -x509` makes one without keyUsage. promtool and curl accept them.
"""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from requests import Session

# What OpenSSL checks only if it is strict: check_extensions() in its crypto/x509/x509_vfy.c, from
# X509_V_ERR_PATHLEN_INVALID_FOR_NON_CA to X509_V_ERR_EXTENSIONS_REQUIRE_VERSION_3.
STRICT_CODES = range(80, 94)
REASONS = {
    "PEM lib": "cert_file and key_file are not a certificate and its key",
    "certificate required": "the server wants a certificate: cert_file and key_file",
    "EOF occurred": "the server broke off; it may want cert_file and key_file",
    "alert bad certificate": "the server refuses our certificate, or wants one: cert_file and key_file",
}  # by what OpenSSL says


def tls_reason(error: BaseException, said: str) -> str:
    """Return why TLS failed, and what to do; *said*: what the innermost *error* says."""
    cause = error.args[-1] if error.args else None
    if isinstance(cause, ssl.SSLCertVerificationError) and cause.verify_code in STRICT_CODES:
        return (
            f"a certificate violates RFC 5280 ({cause.verify_message}); reissue it, or use "
            "--no-x509-strict; see stackmap-fleet(8)"
        )
    known = next((better for words, better in REASONS.items() if words in said), said)
    return f"{known}; see tls_config in stackmap-fleet(8)"


def accept_lax_certificates(session: Session) -> None:
    """Make *session* accept certificates that violate RFC 5280; it checks all else as before."""
    from requests.adapters import HTTPAdapter
    from urllib3.util.ssl_ import create_urllib3_context

    context = create_urllib3_context()
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT

    class LaxAdapter(HTTPAdapter):
        def init_poolmanager(self, *sizes: Any, **options: Any) -> None:
            super().init_poolmanager(*sizes, **options, ssl_context=context)

        def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
            return super().proxy_manager_for(proxy, **options, ssl_context=context)

    session.mount("https://", LaxAdapter())
