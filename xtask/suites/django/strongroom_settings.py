"""Settings and a runner for Django's own tests: outcomes go into a file, one JSON object a line."""

import json
import os

from django.db.backends import utils
from django.test.runner import DiscoverRunner

_OUTCOMES = os.environ["STRONGROOM_OUTCOMES"]
_IS_MARIADB = os.environ["STRONGROOM_SERVER"] == "mariadb"

if _IS_MARIADB:
    import pymysql

    # Django asks for mysqlclient of at least this version, and takes PyMySQL by this name.
    pymysql.install_as_MySQLdb()
    pymysql.version_info = (2, 2, 7, "final", 0)


def _database(name):
    return {
        "ENGINE": "django.db.backends." + ("mysql" if _IS_MARIADB else "postgresql"),
        "NAME": name,
        "USER": "root" if _IS_MARIADB else "postgres",
        "HOST": "127.0.0.1",
        "PORT": os.environ["STRONGROOM_PORT"],
        "TEST": {"NAME": "test_" + name},
    }


DATABASES = {"default": _database("one"), "other": _database("other")}
SECRET_KEY = "no secret"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
USE_TZ = False
TEST_RUNNER = "strongroom_settings.Runner"

_statements = 0
_refused = []


def _refusal(error):
    """The code and the message, if it is the proxy that refuses."""
    if _IS_MARIADB:
        code, message = (*error.args, "", "")[:2]
        return [code, message] if str(message).startswith("strongroom: ") else None
    code = getattr(error, "sqlstate", None)
    return [code, str(error)] if code in ("0A000", "42601", "F0000", "XX001") else None


def _counting(original):
    def execute(self, sql, params, *rest):
        global _statements
        _statements += 1
        try:
            return original(self, sql, params, *rest)
        except Exception as error:
            refusal = _refusal(error.__cause__ or error)
            if refusal:
                _refused.append([*refusal, str(sql)[:2000]])
            raise

    return execute


if os.environ.get("STRONGROOM_VALUES") == "1":
    from django.db.backends.postgresql import compiler

    # Rows are then inserted by VALUES, as Django does on other servers, and not by UNNEST.
    del compiler.SQLInsertCompiler.assemble_as_sql

utils.CursorWrapper._execute = _counting(utils.CursorWrapper._execute)
utils.CursorWrapper._executemany = _counting(utils.CursorWrapper._executemany)


def _recording(base):
    class Result(base):
        def startTest(self, test):
            self._worst = None
            self._start = len(_refused)
            super().startTest(test)

        def _note(self, kind, error):
            if self._worst is None:
                self._worst = (kind, f"{error[0].__name__}: {error[1]}"[:1000])

        def addError(self, test, error):
            if hasattr(self, "_start"):
                self._note("error", error)
            else:
                self._line({"test": str(test), "outcome": "error", "text": str(error[1])[:1000]})
            super().addError(test, error)

        def addFailure(self, test, error):
            self._note("failure", error)
            super().addFailure(test, error)

        def addSubTest(self, test, subtest, error):
            if error is not None:
                is_failure = issubclass(error[0], test.failureException)
                self._note("failure" if is_failure else "error", error)
            super().addSubTest(test, subtest, error)

        def addSkip(self, test, reason):
            self._worst = ("skip", reason)
            super().addSkip(test, reason)

        def stopTest(self, test):
            outcome, text = self._worst or ("pass", "")
            refused = _refused[self._start :]
            self._line({"test": test.id(), "outcome": outcome, "text": text, "refused": refused})
            super().stopTest(test)

        def _line(self, line):
            with open(_OUTCOMES, "a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

        def stopTestRun(self):
            refused = len(_refused)
            self._line({"statements": _statements, "refused": refused})
            super().stopTestRun()

    return Result


class Runner(DiscoverRunner):
    def get_resultclass(self):
        return _recording(super().get_resultclass() or __import__("unittest").TextTestResult)
