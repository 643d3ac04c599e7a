"""mosquitto_rr: publish a request, wait for one answer, and print it as mosquitto does."""

import sys
from contextlib import closing

from ....common.quantiles import Latencies
from ....live.failures import Failure, NotConnected, Refused, Unanswered
from ....live.request.requester import AskOptions, Requester
from ....spec.packets import Publish
from ....spec.properties import RESPONSE_TOPIC
from ....spec.reason_codes import Codes
from ..given import timeout_s
from .client import connectable, debug_lines, said
from .failures import SENTENCES, Outcome, Status, outcome
from .pub import payload_of
from .settings import RR, GrammarError, MosquittoSettings
from .sub import first_line_only, message_writer
from .target import target_of

INCOMPLETE = "Error: All of topic, message, and response topic must be supplied."
TWO_TOPICS = "Error in PUBLISH properties: Duplicate response topic."
FOREVER_S = 1e9
"""How long to wait for an answer without -W."""
TIMED_OUT = SENTENCES[Status.TIMEOUT]


def run(words: list[str]) -> int:
    """Ask as a line of mosquitto_rr says and return the exit status."""
    return said(RR, words, ask)


def ask(settings: MosquittoSettings) -> None:
    """Ask, and print the first message on the response topic; raises GrammarError and Outcome."""
    if not (settings.topic and settings.response_topic and settings.source):
        raise GrammarError(INCOMPLETE)
    if any(each.packet == "PUBLISH" and each.row == RESPONSE_TOPIC for each in settings.property):
        raise Outcome(Status.USAGE, TWO_TOPICS)
    packet = Publish(
        topic=settings.topic, payload=payload_of(settings), qos=settings.qos, properties=settings.of("PUBLISH")
    )
    target = target_of(settings)
    connectable(target)
    wait_s = float(settings.wait_s or FOREVER_S)
    options = AskOptions(
        timeout_s=min(timeout_s(), wait_s), wait_s=wait_s, response_topic=settings.response_topic,
        answer_qos=settings.qos, matches=False, correlates=False, retain_handling=settings.handling,
        retain_as_published=settings.retain_as_published,
    )  # fmt: skip
    requester = Requester(target, packet, options, observer=debug_lines(settings, target))
    write, latencies = message_writer(settings), Latencies()
    try:
        with closing(requester.run()) as answers:
            for answer in answers:
                sys.stdout.buffer.write(write(answer.message))
                sys.stdout.buffer.flush()
                latencies.add(answer.latency_ns)
    except Failure as failure:
        raise _outcome(failure, settings, requester) from failure
    if requester.unanswered:
        raise Outcome(Status.TIMEOUT, TIMED_OUT)
    if settings.latency:
        sys.stdout.write(f"Latency: {latencies.most / 1e6:.3f}ms\n")


def _outcome(failure: Failure, settings: MosquittoSettings, requester: Requester) -> Outcome:
    late = isinstance(failure, Unanswered) or isinstance(failure.__cause__, (Unanswered, TimeoutError))
    if settings.wait_s and late and isinstance(failure, (NotConnected, Unanswered)):
        return Outcome(Status.TIMEOUT, TIMED_OUT)
    if isinstance(failure, Refused) and failure.code and requester.connack:
        return Outcome(Status.DONE, Codes("SUBACK").name(failure.code, settings.mqtt_version))
    return first_line_only(outcome(failure, settings.mqtt_version))
