"""Releases as people read them. Pure: rows and answers of the API in, lines out.

Fields that an older or newer server leaves out or adds are no error.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

Body = Mapping[str, Any]
GONE = "gone"
MOST_PODS = 5
_HEADINGS = ("NAMESPACE", "RELEASE", "BACKEND", "CHART", "PHASE", "REVISION", "REPLICAS", "DETAIL")


def listing(rows: Iterable[Body]) -> list[str]:
    """Return the table of releases, ordered by namespace and name."""
    ordered = sorted(rows, key=lambda row: (str(row.get("namespace")), str(row.get("release"))))
    return columns([_HEADINGS, *(_cells(row) for row in ordered)])


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Align columns, three spaces apart; the last one is as long as it is."""
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    padded = ("   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return [line.rstrip() for line in padded]


def progress(release: Body, now: datetime | None = None) -> list[str]:
    """Return what an uninstall waits for: stage, pods, deadline.

    With `now` times are told as seen from it; without, lines change only when something happens.
    """
    name = f"{release.get('namespace')}/{release.get('release')}"
    deletion = _block(release.get("deletion")) or _block(_block(release.get("llmservice")).get("deletion"))
    stage = str(deletion.get("stage") or "")
    lines = [f"{name}: {release.get('phase', '?')}" + (f", {stage}" if stage else "")]
    lines += [f"  {text}" for text in (_said(release, deletion),) if text]
    lines += _pods(release, deletion)
    lines += [f"  outcome so far: {deletion['outcome']}"] if deletion.get("outcome") else []
    return lines + _times(release, deletion, now)


def status(release: Body) -> list[str]:
    """Return everything about one release that people ask for."""
    shown = {
        "Release": f"{release.get('namespace')}/{release.get('release')}",
        "Backend": release.get("backend"),
        "Chart": release.get("chart"),
        "Phase": release.get("phase"),
        "Revision": release.get("revision"),
        "Replicas": release.get("replicas"),
        "Drift": release.get("drift"),
        "Autoscaling": f"holds: {release['holdReason']}" if release.get("holdReason") else None,
        "Controller": _block(release.get("llmservice")).get("operatorPhase"),
        "Message": release.get("message"),
    }
    lines = [f"{title + ':':13} {value}" for title, value in shown.items() if value is not None]
    return lines + progress(release)[1:] if release.get("phase") == "uninstalling" else lines


def _cells(row: Body) -> tuple[str, ...]:
    detail = row.get("drift") or row.get("message") or ""
    held = f"autoscaling holds: {row['holdReason']}" if row.get("holdReason") else ""
    fields = ("namespace", "release", "backend", "chart", "phase", "revision", "replicas")
    cells = ("-" if row.get(field) is None else str(row[field]) for field in fields)
    return (*cells, "; ".join(text for text in (detail, held) if text))


def _block(value: object) -> Body:
    return value if isinstance(value, Mapping) else {}


def _said(release: Body, deletion: Body) -> str:
    return str(deletion.get("message") or release.get("drift") or release.get("message") or "")


def _pods(release: Body, deletion: Body) -> list[str]:
    left = deletion.get("podsRemaining")
    left = left if left is not None else release.get("podsRemaining")
    names = [_pod(pod) for pod in (deletion.get("pods") or release.get("pods") or [])]
    if not left and not names:
        return []
    number = int(left if left is not None else len(names))
    shown = ", ".join(names[:MOST_PODS]) + (", ..." if number > MOST_PODS or len(names) > MOST_PODS else "")
    return [f"  {number} pod{'' if number == 1 else 's'} left" + (f": {shown}" if names else "")]


def _pod(pod: object) -> str:
    """Name a pod, which rows do by its name alone; one that does not end by itself is told so."""
    if not isinstance(pod, Mapping):
        return str(pod)
    return f"{pod.get('name')}{' (stuck)' if pod.get('stuck') else ''}"


def _times(release: Body, deletion: Body, now: datetime | None) -> list[str]:
    began = _moment(deletion.get("startedAt") or release.get("since"))
    deadline = _moment(deletion.get("deadline"))
    lines = [f"  since {_clock(began)}" + (f", for {_short(now - began)}" if now else "")] if began else []
    if deadline:
        left = (
            f", in {_short(deadline - now)}" if now and deadline > now else ", which is over" if now else ""
        )
        lines.append(f"  deadline {_clock(deadline)}{left}")
    return lines


def _moment(text: object) -> datetime | None:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def _clock(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z").replace("UTC+00:00", "UTC")


def _short(span: timedelta) -> str:
    seconds = max(int(span.total_seconds()), 0)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02}m" if hours else f"{minutes}m{seconds:02}s" if minutes else f"{seconds}s"
