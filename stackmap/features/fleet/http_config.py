"""
How to reach an HTTP server: the file that promtool reads with ``--http.config.file``, and why TLS fails.

From Python 3.13 on, a certificate must follow RFC 5280 (``ssl.VERIFY_X509_STRICT``). Many private CAs do not:
`openssl req -x509` makes one without keyUsage. promtool and curl accept them.
"""

import os
import ssl
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from stackmap.errors import InputError, SourceMissing, UsageError

if TYPE_CHECKING:
    from requests import Session

# Not "pip install stackmap[…]": a project of that name on PyPI is not this one.
NEEDED = (
    "fleet needs requests and PyYAML: apt install python3-requests python3-yaml (Debian), "
    "dnf install python3-requests python3-pyyaml (Fedora), or in a checkout: pip install '.[fleet]'"
)
KEYS = {
    "basic_auth": {"username", "username_file", "password", "password_file"},
    "authorization": {"type", "credentials", "credentials_file"},
    "bearer_token": None,
    "bearer_token_file": None,
    "tls_config": {"ca_file", "cert_file", "key_file", "insecure_skip_verify"},
    "proxy_url": None,
    "follow_redirects": None,
    "http_headers": None,
}  # by option, those inside it; None: it is a value
SWITCHES = {"insecure_skip_verify", "follow_redirects"}
HEADERS = "http_headers"
MOST = 1 << 20  # bytes of such a file
# What OpenSSL checks only if it is strict: check_extensions() in its crypto/x509/x509_vfy.c, from
# X509_V_ERR_PATHLEN_INVALID_FOR_NON_CA to X509_V_ERR_EXTENSIONS_REQUIRE_VERSION_3.
STRICT_CODES = range(80, 94)
REASONS = {
    "PEM lib": "cert_file and key_file are not a certificate and its key",
    "certificate required": "the server wants a certificate: cert_file and key_file",
    "EOF occurred": "the server broke off; it may want cert_file and key_file",
    "alert bad certificate": "the server refuses our certificate, or wants one: cert_file and key_file",
}  # by what OpenSSL says


class HttpConfig(NamedTuple):
    """
    ``authorization``: the header's value, "" for none. ``basic``: user and password.

    ``verify``: whether to check the server's certificate, or the CA file to check it with.
    ``certificate``: the client's certificate and key. ``headers``: more of each request, such as
    Mimir's X-Scope-OrgID. ``x509_strict``: refuse certificates that violate RFC 5280, where Python
    can (3.13 and later).
    """

    authorization: str = ""
    basic: tuple[str, str] | None = None
    verify: bool | str = True
    certificate: tuple[str, str] | None = None
    proxy: str = ""
    follow_redirects: bool = True
    headers: Mapping[str, str] = MappingProxyType({})
    x509_strict: bool = True


def read_http_config(path: str) -> HttpConfig:
    """Return the configuration in the file *path*; ``InputError`` for anything that is not supported."""
    try:
        import yaml
    except ImportError as error:
        raise SourceMissing(NEEDED) from error
    try:
        given = yaml.safe_load(_text(path)) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # no date: ValueError
        # Its message quotes the file, which holds secrets.
        raise InputError(f"{path}: not YAML") from error
    _check(path, given)
    folder = os.path.dirname(path)
    basic, auth, tls = (given.get(k) or {} for k in ("basic_auth", "authorization", "tls_config"))
    token = _secret(given, "bearer_token", folder) or _secret(auth, "credentials", folder)
    if basic and token:
        raise InputError(f"{path}: basic_auth and a token exclude each other")
    ca, cert, key = (tls.get(name) for name in ("ca_file", "cert_file", "key_file"))
    if (cert is None) != (key is None):
        raise InputError(f"{path}: tls_config needs both cert_file and key_file")
    verify = os.path.join(folder, ca) if ca else True
    user = _secret(basic, "username", folder), _secret(basic, "password", folder)
    header = f"{auth.get('type') or 'Bearer'} {token}" if token else ""
    _check_header(path, "the token", header)
    return HttpConfig(
        header,
        user if basic else None,
        not tls.get("insecure_skip_verify") and verify,
        (os.path.join(folder, cert), os.path.join(folder, key)) if cert and key else None,
        given.get("proxy_url") or "",
        given.get("follow_redirects") is not False,
        _headers(path, given.get(HEADERS) or {}, folder),
    )


def _headers(path: str, given: Any, folder: str) -> dict[str, str]:
    """Return each header with its value; promtool's lists must hold one."""
    if not isinstance(given, Mapping):
        raise InputError(f"{path}: {HEADERS} must hold options")
    headers = {str(name): _header(path, options, folder) for name, options in given.items()}
    for name, value in headers.items():
        _check_header(path, HEADERS, name + value)
    return headers


def _header(path: str, options: Any, folder: str) -> str:
    if isinstance(options, Mapping) and len(options) == 1:
        ((kind, texts),) = options.items()
        if isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], str):
            if kind == "files":
                return _text(os.path.join(folder, texts[0])).strip()
            if kind in ("values", "secrets"):
                return texts[0]
    raise InputError(f"{path}: each of {HEADERS} needs one text in values, secrets or files")


def _check_header(path: str, what: str, text: str) -> None:
    """Refuse what no header can hold: an error of the HTTP library would quote it."""
    if not (text.isascii() and text.isprintable()):
        raise InputError(f"{path}: {what} must be one line of printable ASCII")


def _check(path: str, given: Any) -> None:
    """Refuse keys that would be ignored: the user expects a connection with them."""
    if not isinstance(given, Mapping):
        raise InputError(f"{path}: not the options of promtool's --http.config.file")
    for key, value in given.items():
        if key not in KEYS:
            raise InputError(f"{path}: {key} is not supported")
        options = KEYS[key]
        if options is not None:
            _check_options(path, key, value or {}, options)
        elif value is not None and key != HEADERS:
            _check_value(path, key, key, value)


def _check_options(path: str, key: str, given: Any, known: set[str]) -> None:
    if not isinstance(given, Mapping):
        raise InputError(f"{path}: {key} must hold options")
    for option, value in given.items():
        if option not in known:
            raise InputError(f"{path}: {key}.{option} is not supported")
        _check_value(path, f"{key}.{option}", option, value)


def _check_value(path: str, shown: str, option: str, value: Any) -> None:
    """Refuse a value of another type: the text "false" would turn a switch on."""
    if option in SWITCHES and not isinstance(value, bool):
        raise InputError(f"{path}: {shown} must be true or false, without quotes")
    if option not in SWITCHES and not isinstance(value, str):
        raise InputError(f"{path}: {shown} must be text; put it in quotes")


def _secret(options: Mapping[str, Any], name: str, folder: str) -> str:
    """Return an option, or the text of the file that ``NAME_file`` names."""
    if file := options.get(f"{name}_file"):
        return _text(os.path.join(folder, file)).strip()
    return str(options.get(name) or "")


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read(MOST)
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not text") from error


def tls_reason(error: BaseException, said: str) -> str:
    """Return the reason of a TLS failure, and what to do; *said*: the text of the innermost *error*."""
    cause = error.args[-1] if error.args else None
    if isinstance(cause, ssl.SSLCertVerificationError) and cause.verify_code in STRICT_CODES:
        return (
            f"a certificate violates RFC 5280 ({cause.verify_message}); reissue it, or use "
            "--no-x509-strict; see stackmap-fleet(8)"
        )
    known = next((better for words, better in REASONS.items() if words in said), said)
    return f"{known}; see tls_config in stackmap-fleet(8)"


def accept_lax_certificates(session: "Session") -> None:
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
