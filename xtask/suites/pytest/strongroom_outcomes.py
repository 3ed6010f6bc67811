"""A plugin for pytest: outcomes go into a file, one JSON object a line."""

import json
import os

_PATH = os.environ["STRONGROOM_OUTCOMES"]
_worst = {}


def _outcome(report):
    if hasattr(report, "wasxfail"):
        return "xpassed" if report.passed else "xfailed"
    if report.failed:
        return "failed" if report.when == "call" else "error"
    return report.outcome


def pytest_runtest_logreport(report):
    outcome = _outcome(report)
    if report.when == "call" or outcome != "passed":
        text = str(getattr(report.longrepr, "reprcrash", report.longrepr) or "")
        # What fails first counts: its end often fails as well.
        known = _worst.get(report.nodeid, ("passed", ""))
        if known[0] == "passed":
            _worst[report.nodeid] = (outcome, text[:2000])
    if report.when == "teardown":
        outcome, text = _worst.pop(report.nodeid, ("passed", ""))
        line = {"test": report.nodeid, "outcome": outcome, "text": text}
        with open(_PATH, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
