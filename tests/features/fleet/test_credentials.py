"""Credentials and TLS come from promtool's file, reach the server alone, and are never shown."""

from __future__ import annotations

import base64
import re
import shutil
import ssl
import subprocess
import time

import pytest
import urllib3

from stackmap.features.fleet.http_config import HttpConfig, read_http_config
from tests.features.fleet.servers import program, prometheus
from tests.features.fleet.stub import ask, failure, serving, small_fleet

CONFIGS = [
    ("basic_auth: {username: u, password: p}", f"Basic {base64.b64encode(b'u:p').decode()}"),
    (
        "basic_auth: {username: u, password_file: secret}",
        f"Basic {base64.b64encode(b'u:s3cret').decode()}",
    ),
    ("authorization: {credentials: t}", "Bearer t"),
    ("authorization: {type: Token, credentials_file: secret}", "Token s3cret"),
    ("bearer_token: b", "Bearer b"),
    ("bearer_token_file: secret", "Bearer s3cret"),
]


@pytest.mark.parametrize(("text", "header"), CONFIGS)
def test_credentials_come_from_promtools_file(text, header, tmp_path):
    """File names are relative to its folder; ~/.netrc is not read."""
    (tmp_path / "secret").write_text("s3cret\n")
    (tmp_path / "http.yml").write_text(text)
    with serving(small_fleet) as (url, asked):
        result = ask(url, "--http-config", str(tmp_path / "http.yml"))

    assert result.exit_code == 0, result.output
    assert {headers.get("Authorization") for _, headers in asked} == {header}


@pytest.mark.parametrize(
    "text",
    [
        "oauth2: {client_id: x}",
        "tls_config: {server_name: x}",
        "- a",
        "basic_auth: x",
        "basic_auth: {username: 5}",
        "a: [",
        "tls_config: {cert_file: x}",
        "{basic_auth: {username: u}, bearer_token: b}",
        'tls_config: {insecure_skip_verify: "false"}',
        'follow_redirects: "false"',
        "tls_config: {ca_file: true}",
        "proxy_url: 5",
        "bearer_token_file: 5",
        "bearer_token: hünter2",
        r'bearer_token: "hunter2\nx"',
        "bearer_token: 2026-13-01",
        pytest.param("bearer_token: " + "[" * 3000, id="deep"),
    ],
)
def test_what_the_file_must_not_hold(text, tmp_path):
    """An option that would be ignored is an error."""
    (tmp_path / "http.yml").write_text(text)
    said = failure("http://127.0.0.1:9", "--http-config", str(tmp_path / "http.yml"))

    assert "http.yml: " in said
    assert "unter2" not in said


def test_a_password_in_the_url_is_used_and_never_shown():
    with serving(small_fleet) as (url, asked):
        with_password = url.replace("//", "//u:hunter2@")
        result = ask(with_password)
    assert result.exit_code == 0
    assert asked[0][1]["Authorization"] == f"Basic {base64.b64encode(b'u:hunter2').decode()}"
    assert "hunter2" not in failure(with_password)
    assert "hunter2" not in failure("ftp://u:hunter2@host")


def test_credentials_of_any_letters():
    """They are percent-encoded in the URL and sent as UTF-8."""
    with serving(small_fleet) as (url, asked):
        result = ask(url.replace("//", "//u:p%40%E2%82%AC@"))

    assert result.exit_code == 0, result.output
    assert asked[0][1]["Authorization"] == f"Basic {base64.b64encode('u:p@€'.encode()).decode()}"


def test_a_missing_ca_file(tmp_path):
    (tmp_path / "http.yml").write_text("tls_config: {ca_file: none.pem}")
    assert "none.pem" in failure("https://127.0.0.1:9", "--http-config", str(tmp_path / "http.yml"))


HEADERS = {
    "values": "http_headers: {X-Scope-OrgID: {values: [team-a]}}",
    "files": "http_headers: {X-Scope-OrgID: {files: [tenant]}}",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_the_tenant_of_mimir_is_a_header(kind, tmp_path):
    """It is sent; without one, the message has the reason that Mimir gives."""
    (tmp_path / "tenant").write_text("team-a\n")
    (tmp_path / "http.yml").write_text(HEADERS[kind])
    with serving(small_fleet) as (url, asked):
        result = ask(f"{url}/prometheus", "--http-config", str(tmp_path / "http.yml"))
    with serving(lambda _: (401, "no org id\n")) as (url, _):
        said = failure(url)

    assert result.exit_code == 0, result.output
    assert {headers.get("X-Scope-OrgID") for _, headers in asked} == {"team-a"}
    assert "HTTP 401: wrong or missing credentials (no org id)" in said


def openssl(folder, *words):
    subprocess.run([program("openssl"), *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    """
    Two authorities; the first has signed a certificate of this address and one of a client.

    lax.pem is the first as `openssl req -x509` makes it: without keyUsage, so against RFC 5280.
    """
    folder = tmp_path_factory.mktemp("tls")
    usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for ca in ("ca", "other"):
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
        openssl(folder, "req", "-x509", *key, *usage, "-subj", f"/CN={ca}", "-keyout", f"{ca}.key", "-out", f"{ca}.pem")  # fmt: skip
    openssl(folder, "req", "-x509", "-key", "ca.key", "-days", "2", "-subj", "/CN=ca", "-out", "lax.pem")  # fmt: skip
    for name, address in (("server", "IP:127.0.0.1"), ("stranger", "DNS:stranger.example"), ("client", "DNS:client")):  # fmt: skip
        (folder / "names").write_text(f"subjectAltName={address}\nauthorityKeyIdentifier=keyid\n")
        openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")  # fmt: skip
        openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "names", "-out", f"{name}.pem")  # fmt: skip
    return folder


def tls(folder, name="server", client=""):
    """Return the TLS context of a server; *client*: the authority whose client certificates it requires."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / f"{name}.pem", folder / f"{name}.key")
    if client:
        context.load_verify_locations(folder / f"{client}.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


TRUSTED = {
    "its authority": "tls_config: {ca_file: ca.pem}",
    "no check": "tls_config: {insecure_skip_verify: true}",
    "a client's certificate": "tls_config: {ca_file: ca.pem, cert_file: client.pem, key_file: client.key}",
    "basic": "{basic_auth: {username: u, password: p}, tls_config: {ca_file: ca.pem}}",
    "bearer": "{bearer_token: b, tls_config: {ca_file: ca.pem}}",
}


@pytest.mark.parametrize("how", TRUSTED)
def test_a_server_with_tls(how, certificates):
    config = certificates / "http.yml"
    config.write_text(TRUSTED[how])
    context = tls(certificates, client="ca" if "client" in how else "")
    with serving(small_fleet, context) as (url, asked):
        result = ask(url, "--http-config", str(config))
    expected = {"basic": "Basic dTpw", "bearer": "Bearer b"}.get(how)

    assert result.exit_code == 0, result.output
    assert {headers.get("Authorization") for _, headers in asked} == {expected}


REFUSED = {
    "an unknown authority": ("{}", "server", "certificate verify failed"),
    "another authority": ("tls_config: {ca_file: other.pem}", "server", "certificate verify failed"),
    "another name": ("tls_config: {ca_file: ca.pem}", "stranger", "127.0.0.1"),
    "a key that is none": ("tls_config: {ca_file: ca.pem, cert_file: client.pem, key_file: http.yml}", "server", "key"),
    "an authority that is none": ("tls_config: {ca_file: http.yml}", "server", "certificate"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_tls_that_fails(what, certificates):
    """One line says that it is TLS, and why; the server gets no query."""
    text, name, why = REFUSED[what]
    config = certificates / "http.yml"
    config.write_text(text)
    with serving(small_fleet, tls(certificates, name)) as (url, asked):
        said = failure(url, "--http-config", str(config))

    assert "TLS failed" in said
    assert why in said
    assert asked == []


@pytest.mark.skipif(
    not urllib3.util.ssl_.create_urllib3_context().verify_flags & ssl.VERIFY_X509_STRICT,
    reason="this Python or urllib3 accepts certificates that violate RFC 5280",
)
def test_a_certificate_that_violates_rfc_5280_is_refused(certificates):
    """The message has the violation, and both ways out of it."""
    config = certificates / "http.yml"
    config.write_text("tls_config: {ca_file: lax.pem}")
    with serving(small_fleet, tls(certificates)) as (url, asked):
        said = failure(url, "--http-config", str(config))

    assert "violates RFC 5280 (CA cert does not include key usage" in said
    assert "reissue it, or use --no-x509-strict; see stackmap-fleet(8)" in said
    assert asked == []


def test_a_certificate_that_violates_rfc_5280_is_accepted_on_request(certificates):
    config = certificates / "http.yml"
    config.write_text("tls_config: {ca_file: lax.pem}")
    with serving(small_fleet, tls(certificates)) as (url, asked):
        result = ask(url, "--http-config", str(config), "--no-x509-strict")

    assert result.exit_code == 0, result.output
    assert asked


@pytest.mark.parametrize(("ca", "name"), [("other", "server"), ("lax", "stranger")])
def test_without_strictness_authority_and_name_are_still_checked(ca, name, certificates):
    config = certificates / "http.yml"
    config.write_text(f"tls_config: {{ca_file: {ca}.pem}}")
    with serving(small_fleet, tls(certificates, name)) as (url, asked):
        said = failure(url, "--http-config", str(config), "--no-x509-strict")

    assert "TLS failed" in said
    assert asked == []


WEB_CONFIG = """
tls_server_config:
  cert_file: server.pem
  key_file: server.key
  client_ca_file: ca.pem
  client_auth_type: RequireAndVerifyClientCert
"""


def test_a_real_prometheus_that_wants_a_certificate(certificates, tmp_path):
    """Without a certificate one line says so; with one, the server answers that it has no volume."""
    for file in certificates.iterdir():
        shutil.copy(file, tmp_path)
    (tmp_path / "web.yml").write_text(WEB_CONFIG)
    with prometheus(
        tmp_path, "", f"--web.config.file={tmp_path / 'web.yml'}", ready=False
    ) as plain:
        url = plain.replace("http:", "https:")
        said = {}
        for how in ("its authority", "a client's certificate"):
            (tmp_path / "http.yml").write_text(TRUSTED[how])
            ends = time.monotonic() + 30
            while "HTTP 503" in (
                answer := failure(url, "--http-config", str(tmp_path / "http.yml"))
            ):
                assert time.monotonic() < ends, answer  # it listens before it is ready
            said[how] = answer

    # The server may hang up before its reason arrives.
    assert re.search("cert_file and key_file|reset by peer", said["its authority"])
    assert "no volume with a topology" in said["a client's certificate"]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("", HttpConfig()),
        ("proxy_url: http://proxy:3128", HttpConfig(proxy="http://proxy:3128")),
        ("follow_redirects: false", HttpConfig(follow_redirects=False)),
        ("follow_redirects: true", HttpConfig()),
        ("tls_config: {insecure_skip_verify: true}", HttpConfig(verify=False)),
        ("tls_config: {insecure_skip_verify: false}", HttpConfig()),
        ("basic_auth: {username: u, password: p}", HttpConfig(basic=("u", "p"))),
        ("authorization: {credentials: t}", HttpConfig("Bearer t")),
        ("authorization: {type: Token, credentials: t}", HttpConfig("Token t")),
        (
            "http_headers: {A: {values: [b]}, C: {secrets: [d]}}",
            HttpConfig(headers={"A": "b", "C": "d"}),
        ),
    ],
)
def test_each_option_has_its_meaning(text, given, tmp_path):
    """What the file does not say is as without a file."""
    (tmp_path / "http.yml").write_text(text)
    assert read_http_config(str(tmp_path / "http.yml")) == given


def test_files_are_beside_the_configuration(tmp_path):
    (tmp_path / "http.yml").write_text(
        "tls_config: {ca_file: ca.pem, cert_file: c.pem, key_file: k.pem}"
    )
    found = read_http_config(str(tmp_path / "http.yml"))
    assert found.verify == str(tmp_path / "ca.pem")
    assert found.certificate == (str(tmp_path / "c.pem"), str(tmp_path / "k.pem"))
