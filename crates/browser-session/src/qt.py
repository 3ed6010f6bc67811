"""Opens a page in Qt's browser engine, without a window, until it is ended."""

import signal
import sys

from PyQt6.QtCore import QTimer, QUrl
from PyQt6.QtWebEngineCore import QWebEnginePage, QWebEngineProfile
from PyQt6.QtWidgets import QApplication

_, folder, address = sys.argv
application = QApplication([sys.argv[0]])
profile = QWebEngineProfile("strongroom")
profile.setPersistentStoragePath(folder + "/storage")
profile.setCachePath(folder + "/cache")
page = QWebEnginePage(profile)
page.load(QUrl(address))
signal.signal(signal.SIGTERM, lambda *_: application.quit())
# Python handles signals only between bytecode instructions.
timer = QTimer()
timer.timeout.connect(lambda: None)
timer.start(100)
application.exec()
# The page must be deleted before its profile.
del page
