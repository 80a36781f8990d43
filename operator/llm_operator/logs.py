"""Structured logs: one JSON object per line on stderr."""

import logging
import sys

import orjson
import structlog
from structlog.processors import ExceptionRenderer
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import EventDict


def configure(level: str = "INFO") -> None:
    """Set structlog up for this process; call once at start."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            # Without the locals of each frame: they hold tokens and values from Secrets.
            ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(serializer=_line),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


class _Adopted(logging.Handler):
    """Passes what a library logs on to structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record; one with an exception is something that nobody handled."""
        error = record.exc_info[1] if record.exc_info else None
        more = {"kind": type(error).__name__, "exc_info": error} if error is not None else {}
        event = f"unhandled: {record.getMessage()}" if error is not None else record.getMessage()
        structlog.get_logger().log(record.levelno, event, logger=record.name, **more)


def adopt(name: str) -> None:
    """Log what a library logs from warnings on in the same form as ours."""
    logger = logging.getLogger(name)
    logger.handlers = [_Adopted(logging.WARNING)]
    logger.propagate = False


def _line(event: EventDict, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()
