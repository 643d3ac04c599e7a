"""The questions of the report. Each is a module: its SQL, the NamedTuple of a row, its lists, and its sentences.

A question reads each table once and returns few rows. It may use the answers to questions that are asked before it.
"""

from typing import Any

from ..question import Question
from .clients import CLIENTS
from .comparison import COMPARISON
from .exchanges import EXCHANGES
from .findings import FINDINGS
from .latency import LATENCY
from .operation.anomalies import ANOMALIES
from .operation.churn import CHURN
from .operation.fan_out import FAN_OUT
from .operation.silences import SILENCES
from .operation.topic_tree import TOPIC_TREE
from .outcomes import ENDINGS
from .payloads import PAYLOADS
from .topics import TOPICS
from .traffic import TRAFFIC
from .volumes import VOLUMES

QUESTIONS: tuple[Question[Any], ...] = (
    COMPARISON, TRAFFIC, EXCHANGES, LATENCY, CLIENTS, CHURN, SILENCES, ENDINGS, TOPICS, TOPIC_TREE, FAN_OUT, ANOMALIES,
    VOLUMES, PAYLOADS, FINDINGS,
)  # fmt: skip
"""In the order in which the page and the terminal show them."""
