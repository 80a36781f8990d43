"""What is made of helm's stderr: one line for an event or a condition."""

import pytest

from llm_operator.helm import ERROR_LENGTH, tidy

FAILED = "Error: failed to delete release: sable\n"
FORBIDDEN = r"deployments.apps \"sable\" is forbidden: User \"x\" cannot delete"
REASON = f'level=DEBUG msg="uninstall: Failed to delete release" error="[{FORBIDDEN}]"\n'

# what helm writes, and what is told of it
ROWS = {
    "an error": (FAILED, "failed to delete release: sable"),
    "its reason, from the log": (
        f'level=DEBUG msg="uninstall: deleting release" name=sable\n{REASON}{FAILED}',
        'failed to delete release: sable: deployments.apps "sable" is forbidden: User "x" cannot delete',
    ),
    "warnings": (
        f"WARNING: the kubeconfig is readable by all\nlevel=WARN msg=old\n{FAILED}",
        "failed to delete release: sable",
    ),
    "lines": ("Error: a\n\n  b\n", "a; b"),
    "a secret": ("Error: cannot log in with hunter2\n", "cannot log in with ***"),
    "a secret in the log": (
        REASON.replace("sable", "hunter2") + FAILED,
        'failed to delete release: sable: deployments.apps "***" is forbidden: User "x" cannot delete',
    ),
    "nothing": ("", ""),
    "too much": ("Error: " + "x" * 2 * ERROR_LENGTH, "x" * ERROR_LENGTH + "..."),
}


@pytest.mark.parametrize(("text", "told"), ROWS.values(), ids=ROWS)
def test_tidy(text: str, told: str) -> None:
    """One line without helm's prefix, its log and secrets; long ones are cut."""
    assert tidy(text, ["hunter2", ""]) == told
