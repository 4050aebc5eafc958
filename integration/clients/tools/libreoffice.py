"""LibreOffice Base over its own driver for Postgres, without a window: what a query shows, and the schemas that it lists."""
import os
import shutil
import subprocess
import sys
import tempfile

import uno
from com.sun.star.connection import NoConnectException

from table import DATABASE, HOST, PASSWORD, PORT, QUESTION, USER, show

profile = tempfile.mkdtemp()
pipe = os.path.basename(profile)
office = subprocess.Popen([
    "soffice", "--headless", "--norestore", f"--accept=pipe,name={pipe};urp;", f"-env:UserInstallation=file://{profile}"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    context = None
    while context is None:
        if office.poll() is not None:
            sys.exit("soffice ended")
        try:
            context = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
        except NoConnectException:
            pass
    manager = context.ServiceManager.createInstanceWithContext("com.sun.star.sdbc.DriverManager", context)
    connection = manager.getConnection(
        f"sdbc:postgresql:host={HOST} port={PORT} dbname={DATABASE} user={USER} password={PASSWORD}")
    result = connection.createStatement().executeQuery(QUESTION)
    columns = range(1, result.getMetaData().getColumnCount() + 1)
    rows = []
    while result.next():
        rows.append([result.getString(c) for c in columns])
    show([result.getMetaData().getColumnName(c) for c in columns], rows)
    connection.close()
finally:
    office.terminate()
    office.wait()
    shutil.rmtree(profile)
