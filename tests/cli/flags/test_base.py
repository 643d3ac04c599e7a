"""Every flag of `pub` lands in the right bytes, and what is wrong is one line."""

import os
import shlex
import socket
import subprocess
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

from mqttpub.cli.commands.pub import command
from mqttpub.cli.flags.base import ALL_FLAGS, Flag
from mqttpub.cli.flags.properties import PREFIXES, dashed, options_of
from mqttpub.spec.declare import Property
from mqttpub.spec.properties import PropertyRow
from mqttpub.wire.types import BINARY, PAIR, STRING
from tests.cli.commands.test_pub import pub, subscribed
from tests.cli.requested import PLAIN, connect, disconnect, names, publish, refused, requested
from tests.program import PROGRAM, on_terminal

EVERY = [(packet, key, row) for packet in PREFIXES for key, row in options_of(packet).items()]


def sample(row: PropertyRow) -> tuple[str, object]:
    """Return a value of a property as people write it, and as it is on the wire."""
    texts: dict[object, tuple[str, object]] = {
        STRING: ("text", "text"), BINARY: ("hex:00ff", b"\x00\xff"), PAIR: ("a=b", ("a", "b")),
    }  # fmt: skip
    return texts.get(row.type, ("1", 1))


@pytest.mark.parametrize(("packet", "key", "row"), EVERY, ids=[f"{packet} {key}" for packet, key, _ in EVERY])
def test_every_property_has_a_flag_that_puts_it_into_its_packet(packet: str, key: str, row: PropertyRow) -> None:
    text, value = sample(row)
    request = requested(dashed(key), text, "--force", *(["-Wt", "w"] if packet == "WILL" else []))
    assert request.target.connect.will or packet != "WILL"
    packets = {
        "PUBLISH": request.packets[0],
        "CONNECT": request.target.connect,
        "WILL": request.target.connect.will,
        "DISCONNECT": request.target.disconnect,
    }
    carried = {name: each.properties for name, each in packets.items() if each and each.properties}
    assert carried == {packet: (Property(row.id, value),)}


CONNECTS = {
    ("-k", "10"): "02 00 0a 00 00 02 6d 65",
    ("-c",): "00 00 3c 00 00 02 6d 65",
    ("--disable-clean-session",): "00 00 3c 00 00 02 6d 65",
    ("--no-cleanStart",): "00 00 3c 00 00 02 6d 65",
    ("-u", "al", "-P", "@/dev/null"): "c2 00 3c 00 00 02 6d 65 00 02 61 6c 00 00",
    ("-x", "5"): "02 00 3c 05 11 00 00 00 05 00 02 6d 65",
    ("-se", "never"): "02 00 3c 05 11 ff ff ff ff 00 02 6d 65",
    ("-x", "-1"): "02 00 3c 05 11 ff ff ff ff 00 02 6d 65",
    ("-x", "∞"): "02 00 3c 05 11 ff ff ff ff 00 02 6d 65",
    ("--rcv-max", "0x14"): "02 00 3c 03 21 00 14 00 02 6d 65",
    ("--req-response-info",): "02 00 3c 02 19 01 00 02 6d 65",
    ("--no-req-problem-info",): "02 00 3c 02 17 00 00 02 6d 65",
    ("--request-problem-information", "no"): "02 00 3c 02 17 00 00 02 6d 65",
    ("-am", "x", "--authentication-data", "@/dev/null"): "02 00 3c 07 15 00 01 78 16 00 00 00 02 6d 65",
    ("-Cup", "k: v", "-Cup", "k=w"): "02 00 3c 0e 26 00 01 6b 00 01 76 26 00 01 6b 00 01 77 00 02 6d 65",
    ("-Wt", "w"): "06 00 3c 00 00 02 6d 65 00 00 01 77 00 00",
    ("-Wt", "w", "-Wm", "hex:00"): "06 00 3c 00 00 02 6d 65 00 00 01 77 00 01 00",
    ("-Wt", "w", "-Wq", "2", "-Wr"): "36 00 3c 00 00 02 6d 65 00 00 01 77 00 00",
    ("-Wt", "w", "-Wd", "9", "-Wpf"): "06 00 3c 00 00 02 6d 65 07 01 01 18 00 00 00 09 00 01 77 00 00",
    ("-Wt", "w", "-Wup", "a=b=c"): "06 00 3c 00 00 02 6d 65 09 26 00 01 61 00 03 62 3d 63 00 01 77 00 00",
    ("-V", "3.1.1", "-Wt", "w", "-Wm", "x"): "06 00 3c 00 02 6d 65 00 01 77 00 01 78",
}


@pytest.mark.parametrize("arguments", CONNECTS, ids=" ".join)
def test_what_connect_says(arguments: tuple[str, ...]) -> None:
    assert connect(*arguments) == CONNECTS[arguments]


DISCONNECTS = {
    (): "e0 00",
    ("--disconnect-reason-code", "4"): "e0 01 04",
    ("--disconnect-reason-string", "by"): "e0 07 00 05 1f 00 02 62 79",
    ("-V", "3.1.1"): "e0 00",
}


@pytest.mark.parametrize("arguments", DISCONNECTS, ids=" ".join)
def test_what_disconnect_says(arguments: tuple[str, ...]) -> None:
    assert disconnect(*arguments) == DISCONNECTS[arguments]


PUBLISHES = {
    ("-pf",): "30 07 00 01 61 02 01 01 78",
    ("-pf", "UTF_8"): "30 07 00 01 61 02 01 01 78",
    ("--payloadFormatIndicator", "UNSPECIFIED"): "30 07 00 01 61 02 01 00 78",
    ("-q", "1", "-r", "--packet-id", "10"): "33 07 00 01 61 00 0a 00 78",
    ("-up", "a: b: c"): "30 0f 00 01 61 0a 26 00 01 61 00 04 62 3a 20 63 78",
}


@pytest.mark.parametrize("arguments", PUBLISHES, ids=" ".join)
def test_what_publish_says(arguments: tuple[str, ...]) -> None:
    assert publish(*arguments) == PUBLISHES[arguments]


def test_a_message_goes_to_each_topic() -> None:
    request = requested("-t", "b", "-t", "a")
    assert [packet.topic for packet in request.packets] == ["a", "b", "a"]
    assert {packet.payload for packet in request.packets} == {b"x"}


def test_a_prefix_begins_the_client_identifier() -> None:
    chosen = requested("-I", "dev-", plain=PLAIN[:4]).target.connect.client_id
    assert chosen.startswith("dev-")
    assert len(chosen) == 12
    assert requested(plain=PLAIN[:4]).target.connect.client_id.startswith("mqttpub-")
    assert requested("-i", "", plain=PLAIN[:4]).target.connect.client_id == ""


ALIASES = {
    "--host": "--hostname",
    "--mqtt-version": "--protocol-version --mqttVersion",
    "--client-id": "--id --identifier",
    "--id-prefix": "--identifierPrefix -ip",
    "--keep-alive": "--keepalive --keepAlive",
    "--username": "--user",
    "--password": "--pw -pw",
    "--password-file": "-pw:file",
    "--file": "--file-read --message-file -m:file",
    "--stdin": "--stdin-file",
    "--null-message": "--message-empty -m:empty",
    "--stdin-line": "--multiline --line-mode -lm",
    "--reconnect": "--maximum-reconnect-times",
    "--key-password": "--keypw --client-private-key-password",
    "--inspect": "--debug --verbose",
    "--session-expiry-interval": "--sessionExpiryInterval",
    "--receive-maximum": "--rcv-max --rcvMax",
    "--maximum-packet-size": "--maxPacketSize",
    "--topic-alias-maximum": "--topicAliasMax",
    "--request-response-information": "--req-response-info --reqResponseInfo",
    "--no-request-problem-information": "--no-req-problem-info --no-reqProblemInfo",
    "--connect-user-property": "--conn-user-properties --connectUserProperty",
    "--user-property": "--user-properties --userProperty",
    "--message-expiry-interval": "--messageExpiryInterval",
    "--response-topic": "--responseTopic",
    "--correlation-data": "--correlationData",
    "--content-type": "--contentType",
    "--will-topic": "--willTopic",
    "--will-message": "--will-payload --willMessage",
    "--will-qos": "--willQualityOfService",
    "--will-retain": "--willRetain",
    "--will-delay-interval": "--willDelayInterval",
    "--will-payload-format-indicator": "--willPayloadFormatIndicator",
    "--will-message-expiry-interval": "--willMessageExpiryInterval",
    "--will-content-type": "--willContentType",
    "--will-response-topic": "--willResponseTopic",
    "--will-correlation-data": "--willCorrelationData",
    "--will-user-property": "--will-user-properties --willUserProperty",
    "--no-clean": "--disable-clean-session --no-cleanStart",
}


@pytest.mark.parametrize("name", ALIASES)
def test_the_long_names_of_other_clients_mean_the_same(name: str) -> None:
    flag = next(param for param in command.params if name in names(param))
    same = flag.secondary_opts if name in flag.secondary_opts else flag.opts
    assert set(ALIASES[name].split()) <= set(same)


def test_a_line_of_mqttx_pub_means_lines_of_standard_input() -> None:
    request = requested("-t", "a", "--stdin", "--multiline", plain=())
    assert request.bulk.kind == "lines"


def test_lines_of_mosquitto_pub_mean_what_they_mean_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hex").touch()
    params = command.make_context("pub", ["-h", "h", "-t", "a", "-f", "hex"]).params
    assert (params["host"], params["file"]) == ("h", "hex")
    assert command.make_context("pub", ["-t", "a", "-m", "x", "-d", "--nodelay"]).params["inspect"]
    assert publish("-D", "PUBLISH", "user-property", "k", "v", "-q", "1").startswith(
        "32 0c 00 01 61 07 26 00 01 6b 00 01 76"
    )


WRONG = {
    "-Wm bye": "--will-message needs --will-topic",
    "-Wm bye -Wq 1": "--will-message and --will-qos need --will-topic",
    "-Wr": "--will-retain needs --will-topic",
    "-Wct text": "--will-content-type needs --will-topic",
    "-D WILL content-type x": "--property WILL needs --will-topic",
    "-V 3.1.1 -x 5": "--session-expiry-interval needs MQTT 5, but the version is 3.1.1",
    "-V 3.1 --no-req-problem-info": "--request-problem-information needs MQTT 5, but the version is 3.1",
    "-V 3.1.1 -Cup a=b": "--connect-user-property needs MQTT 5, but the version is 3.1.1",
    "-V 3.1.1 -Wt w -Wd 5": "--will-delay-interval needs MQTT 5, but the version is 3.1.1",
    "-V 3.1.1 --disconnect-reason-code 4": "--disconnect-reason-code needs MQTT 5, but the version is 3.1.1",
    "-V 3.1.1 --disconnect-user-property a=b": "--disconnect-user-property needs MQTT 5, but the version is 3.1.1",
    "--receive-maximum 0": (
        "Receive Maximum is 0, but must be 1 or more (MQTT5-2.2.2.2/zero); --force sends it anyway"
    ),
    "--topic-alias 70000": "--topic-alias: 70000 is not in the range 1 to 65535",
    "--receive-maximum 65536": "--receive-maximum: 65536 is not in the range 1 to 65535",
    "-x soon": "--session-expiry-interval: 'soon' is not a number",
    "-Wt a/+": "Will Topic holds the wildcard + (MQTT5-4.7.0-1); --force sends it anyway",
    "-Wt w -Wq 3": "Will QoS is 3, but must be 0, 1 or 2 (MQTT5-3.1.2-12); --force sends it anyway",
    "-Wt w -Wq 4": "--will-qos: 4 is not 0, 1 or 2",
    "--authentication-data @/dev/null": (
        "CONNECT has Authentication Data, but no Authentication Method (MQTT5-3.1.2.11.10/method); "
        "--force sends it anyway"
    ),
    "-V 3.1.1 --password-file /dev/null": (
        "Password Flag is 1, but User Name Flag is 0 (MQTT311-3.1.2-22); --force sends it anyway"
    ),
    "--disconnect-reason-code 0x8b": (
        "Reason Code is 0x8b Server shutting down, from the client, but only the other end sends it "
        "(MQTT5-3.14.2-1); --force sends it anyway"
    ),
    "-i me -I dev-": "only one Client Identifier at a time, but -i and -I were given",
    "-f x": "only one payload at a time, but -m and -f were given",
    "-m x": "only one payload at a time, but -m was given 2 times",
    "--password-file /dev/null --ask-password": (
        "only one password at a time, but --password-file and --ask-password were given"
    ),
    "--request-problem-information 1 --no-req-problem-info": (
        "only one Request Problem Information at a time, "
        "but --request-problem-information and --no-request-problem-information were given"
    ),
    "-t b -q 1 --packet-id 5": "--packet-id: is for one message, but there are 2 topics",
    "-q 1 --packet-id 5 --csv rows": "--packet-id: is for one message, but each line or row is one",
    "-q 1 --packet-id 5 --outbox kept": "--packet-id: does not go with --outbox",
    "--password-file /dev/zero": "--password-file: the first line of '/dev/zero' is longer than 65535 bytes",
    "--password-file /nowhere": "--password-file: cannot read '/nowhere': No such file or directory",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_mistake_is_reported_in_one_line(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "-t", "a", "-m", "x", *line.split()) == WRONG[line]


@pytest.mark.parametrize("flag", ["-l", "-0"])
def test_the_messages_of_lines_cannot_share_a_packet_identifier(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "-t", "a", "-q", "1", "--packet-id", "5", flag)
    assert said == "--packet-id: is for one message, but each line or row is one"


def test_force_sends_forbidden_packets() -> None:
    assert connect("--receive-maximum", "0", "--force") == "02 00 3c 03 21 00 00 00 02 6d 65"
    assert requested("-V", "3.1.1", "-P", "@/dev/null", "--force").target.connect.password == b""


def test_a_password_without_a_user_name_is_legal_since_5() -> None:
    assert connect("--password-file", "/dev/null").startswith("42 ")


def test_without_a_topic_nothing_is_sent(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "-m", "x") == "no topic: give -t, or a URL with one"


# the environment


def test_every_flag_has_its_own_environment_variable() -> None:
    variables = [param.variable for param in command.params if isinstance(param, Flag)]
    assert len(set(variables)) == len(variables)
    assert {"MQTTPUB_HOST", "MQTTPUB_JSON", "MQTTPUB_CLEAN", "MQTTPUB_WILL_MESSAGE", "MQTTPUB_PROFILE"} <= {*variables}


ENVIRONMENT = {
    ("MQTTPUB_KEEP_ALIVE", "7"): "02 00 07 00 00 02 6d 65",
    ("MQTTPUB_CLEAN", "0"): "00 00 3c 00 00 02 6d 65",
    ("MQTTPUB_WILL_TOPIC", "w"): "06 00 3c 00 00 02 6d 65 00 00 01 77 00 00",
    ("MQTTPUB_CONNECT_USER_PROPERTY", "a: b c\nd=e"): (
        "02 00 3c 10 26 00 01 61 00 03 62 20 63 26 00 01 64 00 01 65 00 02 6d 65"
    ),
    ("MQTTPUB_PROPERTY", "CONNECT receive-maximum 20"): "02 00 3c 03 21 00 14 00 02 6d 65",
    ("MQTTPUB_REQUEST_RESPONSE_INFORMATION", "true"): "02 00 3c 02 19 01 00 02 6d 65",
    ("MQTTPUB_NO_REQUEST_PROBLEM_INFORMATION", "1"): "02 00 3c 02 17 00 00 02 6d 65",
    ("MQTTPUB_KEEP_ALIVE", ""): "02 00 3c 00 00 02 6d 65",
}


@pytest.mark.parametrize(("variable", "value"), ENVIRONMENT)
def test_the_environment_gives_flags(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    assert connect() == ENVIRONMENT[variable, value]


def test_the_command_line_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQTTPUB_RETAIN", "yes")
    monkeypatch.setenv("MQTTPUB_FILE", "/nowhere")
    monkeypatch.setenv("MQTTPUB_PASSWORD", "theirs")
    request = requested("-q", "1", "--password-file", "/dev/null")
    assert request.packets[0].retain
    assert request.packets[0].payload == b"x"
    assert request.target.connect.password == b""


def test_a_mistake_in_the_environment_names_the_variable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MQTTPUB_RECEIVE_MAXIMUM", "many")
    assert refused(capsys, *PLAIN) == "MQTTPUB_RECEIVE_MAXIMUM: 'many' is not a number"


# passwords


SEEN = {
    "-u me -P x -L mqtt://me:y@h": "a password",
    "-P x -am m -D CONNECT authentication-data z --force": "a password and authentication data",
    "--keypw x --cert /dev/null --key /dev/null": "the password of a key",
    "--proxy socks5h://me:x@h:1": "a proxy's password",
}


@pytest.mark.parametrize("line", SEEN)
def test_secrets_among_the_arguments_draw_one_warning(
    line: str, capsys: pytest.CaptureFixture[str], first_in_its_terminal: None
) -> None:
    requested(*line.split())
    assert capsys.readouterr().err == f"mqttpub: {SEEN[line]} among the arguments can be seen by other users\n"
    requested(*line.split())
    assert capsys.readouterr().err == ""


@pytest.fixture
def first_in_its_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let standard error be a terminal in which nothing was said yet."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("mqttpub.cli.flags.passwords.sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True)))


def test_with_quiet_nobody_is_warned(capsys: pytest.CaptureFixture[str], first_in_its_terminal: None) -> None:
    requested("-P", "x", "--quiet")
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_a_session_of_a_terminal_is_warned_once_and_a_script_without_one_never(tmp_path: Path) -> None:
    line = shlex.join([*PROGRAM, "pub", "-p", "1", *PLAIN, "-P", "x"])
    env = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    for runtime in (str(tmp_path), "/dev/null"):
        for _ in range(2):
            values = {**env, "XDG_RUNTIME_DIR": runtime}
            said, _ = on_terminal(["bash", "-c", f"{line}; {line}"], env=values, own_session=True)
            assert said.count(b"can be seen") == (1 if runtime == str(tmp_path) else 2)
    without = subprocess.run(["bash", "-c", line], env=env, capture_output=True, check=False, timeout=30)
    assert without.stderr == b"mqttpub: cannot connect to localhost:1: Connection refused\n"


@pytest.mark.parametrize(
    ("text", "password"),
    [
        (b"secret", b"secret"), (b"secret\n", b"secret"), (b"secret\r\nmore\n", b"secret"), (b"a b \t\n", b"a b \t"),
        (b" \n", b" "), (b"\xff\0\n", b"\xff\0"), (b"", b""),
    ],
)  # fmt: skip
def test_a_password_is_the_first_line_of_its_file_blanks_and_all(text: bytes, password: bytes, tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(text)
    assert requested("-u", "me", "--password-file", str(path)).target.connect.password == password
    tls = requested("--cert", str(path), "--key", str(path), "--key-password-file", str(path)).target.transport.tls
    assert tls
    assert tls.key_password == password


def test_secrets_from_elsewhere_draw_none(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, first_in_its_terminal: None
) -> None:
    monkeypatch.setenv("MQTTPUB_PASSWORD", "secret")
    assert requested("-u", "me").target.connect.password == b"secret"
    requested("-P", "@/dev/null", "-L", "mqtt://me@h")
    assert capsys.readouterr().err == ""


def test_a_password_is_asked_for_on_the_terminal(mosquitto: int) -> None:
    ours, theirs = os.openpty()
    line = [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), *PLAIN, "-u", "me", "--ask-password", "-d"]
    with os.fdopen(ours, "r+b", buffering=0) as terminal:
        process = subprocess.Popen(line, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True)
        os.close(theirs)
        prompt = b""
        while not prompt.endswith(b"Password: "):
            prompt += terminal.read(1)
        terminal.write(b"tell\n")
        shown, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert b"Password           ****  4 bytes" in shown


def test_nothing_is_asked_without_a_terminal() -> None:
    done = subprocess.run(
        [*PROGRAM, "pub", *PLAIN, "--ask-password"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        start_new_session=True, check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        2,
        "mqttpub pub: --ask-password: there is no terminal to ask for a password on\n",
    )


# help and quiet


def full_help() -> str:
    """Return the help of `pub` with all of its flags."""
    context = click.Context(command, info_name="pub")
    context.meta[ALL_FLAGS] = True
    return command.get_help(context)


def test_every_option_stands_under_a_heading() -> None:
    text = full_help()
    headings = [line[:-1] for line in text.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert headings[0] == "Message"
    assert headings[-3:] == ["Output", "Other", "Examples"]
    assert {"PUBLISH properties", "Connection", "Will", "CONNECT properties", "DISCONNECT"} <= set(headings)
    assert len(set(headings)) == len(headings)


def test_help_of_a_property_says_identifier_range_and_version() -> None:
    text = " ".join(full_help().split())
    assert "Receive Maximum (0x21, 1 to 65535, since MQTT 5): how many" in text
    assert "Session Expiry Interval (0x11, 0 to 4294967295 s or never, since MQTT 5): how long" in text
    assert "Payload Format Indicator of the will (0x01, 0 or 1, since MQTT 5): whether" in text
    assert "--clean / -c, --no-clean Clean Start" in text


def test_quiet_leaves_only_the_status() -> None:
    done = subprocess.run(
        [*PROGRAM, "pub", *PLAIN, "-p", "1", "-h", "127.0.0.1", "--quiet"], capture_output=True, check=False, timeout=30
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")


# on the wire


@pytest.mark.broker
def test_connect_carries_its_user_properties_to_a_real_broker(mosquitto: int) -> None:
    records = pub(*PLAIN, "-Cup", "who: me", "-h", "127.0.0.1", "--inspect", "--json", port=mosquitto)
    sent = next(each for each in records if each.get("type") == "CONNECT")
    assert "26 00 03 77 68 6f 00 02 6d 65" in bytes.fromhex(sent["hex"]).hex(" ")


@pytest.mark.broker
def test_the_will_arrives_when_the_connection_is_killed(mosquitto: int) -> None:
    line = [
        *PROGRAM, "pub", "-h", "127.0.0.1", "-p", str(mosquitto), "-t", "will/before", "-l", "-q", "1",
        "-Wt", "will/after", "-Wm", "hex:ff00", "-Wq", "1",
    ]  # fmt: skip
    with subscribed("will/+", mosquitto) as listener:
        assert listener.stdout
        process = subprocess.Popen(line, stdin=subprocess.PIPE)
        assert process.stdin
        process.stdin.write(b"x\n")
        process.stdin.flush()
        assert listener.stdout.readline() == b"78\n"
        process.kill()
        process.wait(10)
        process.stdin.close()
        assert listener.stdout.readline() == b"ff00\n"


@pytest.mark.broker
def test_disconnect_with_will_message_has_the_will_published(mosquitto: int) -> None:
    with subscribed("will/asked", mosquitto) as listener:
        pub(
            *PLAIN,
            "-h",
            "127.0.0.1",
            "-Wt",
            "will/asked",
            "-Wm",
            "bye",
            "--disconnect-reason-code",
            "4",
            port=mosquitto,
        )
        assert listener.stdout
        assert listener.stdout.readline() == b"627965\n"


@pytest.mark.parametrize("line", ["-Wt a/#", "--receive-maximum 0", "-V 3.1.1 -x 5"])
def test_mistakes_are_refused_before_connecting(line: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = str(server.getsockname()[1])
        whole = [*PROGRAM, "pub", "-h", "127.0.0.1", "-p", port, *PLAIN, *line.split()]
        assert subprocess.run(whole, capture_output=True, check=False, timeout=30).returncode == 2
        with pytest.raises(BlockingIOError):
            server.accept()
