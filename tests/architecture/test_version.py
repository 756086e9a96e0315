"""The version, the changelog and the policy say the same."""

import re

import dither
from tests.architecture.repository import ROOT


def test_the_changelog_begins_with_what_is_not_released_and_then_this_version() -> None:
    headings = re.findall(r"^## \[(.+?)\](.*)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] == ("Unreleased", "")
    newest, dated = headings[1]
    assert newest == dither.__version__
    assert re.fullmatch(r" - \d{4}-\d{2}-\d{2}", dated)


def test_the_classifiers_are_the_supported_versions() -> None:
    project = (ROOT / "pyproject.toml").read_text()
    assert re.findall(r"Python :: (3\.\d+)", project) == ["3.11", "3.12", "3.13"]
    assert 'requires-python = ">=3.11"' in project
    assert "Python 3.11, 3.12 and 3.13 are supported" in (ROOT / "CONTRIBUTING.md").read_text()


def test_the_policy_is_written_down() -> None:
    policy = (ROOT / "SECURITY.md").read_text().partition("## Versions and deprecations")[2]
    assert "Semantic Versioning" in policy
    assert "deprecated" in policy
