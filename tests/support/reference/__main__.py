"""`python -m support.reference` writes the references."""

from __future__ import annotations

from support.reference import pages


def main() -> None:
    """Write both files."""
    for name, text in pages.files().items():
        (pages.ROOT / name).write_text(text)


if __name__ == "__main__":
    main()
