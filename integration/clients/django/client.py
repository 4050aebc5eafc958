"""Django's ORM, and inspectdb, which reads a row of each table to learn its columns."""
import io
import os
import sys

import django
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, models, transaction
from django.db.models import Avg, Count

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
from steps import CHARGES, LIST_ONLY, say, say_rows  # noqa: E402

e = os.environ
options = "-c client_min_messages=warning"
settings.configure(
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": e["PGDATABASE"], "USER": e["PGUSER"], "PASSWORD": e["PGPASSWORD"],
        "HOST": e["PGHOST"], "PORT": e["PGPORT"], "OPTIONS": {"options": options if LIST_ONLY else options + " -c dp.rows=none"},
    }}, DEFAULT_AUTO_FIELD="django.db.models.AutoField", USE_TZ=True)
django.setup()


class Hospital(models.Model):
    name = models.CharField(max_length=40)

    class Meta:
        app_label = "clinic"
        db_table = "hospitals"


class Visit(models.Model):
    hospital = models.ForeignKey(Hospital, models.DO_NOTHING)
    diagnosis = models.TextField()
    cost = models.DecimalField(max_digits=10, decimal_places=2)
    day = models.DateField()

    class Meta:
        app_label = "clinic"
        db_table = "visits"


connection.ensure_connection()
say("connect", "ok")
generated = io.StringIO()
call_command("inspectdb", stdout=generated)
for line in generated.getvalue().splitlines():
    say("list", line)
if LIST_ONLY:
    sys.exit()

visits = Visit.objects
with connection.cursor() as cursor:
    cursor.execute("SET dp.rows = refuse")
say_rows(visits.filter(hospital_id__gt=0).values_list("diagnosis").annotate(n=Count("*"), mean=Avg("cost")).order_by("diagnosis"))
say("join", len(visits.values("hospital__name").annotate(n=Count("id"))))
say("years", len(visits.values("day__year").annotate(n=Count("id"))))


def charges():
    with connection.cursor() as cursor:
        cursor.execute(CHARGES)
        return cursor.fetchone()[0]


before = charges()
count = sum(1 for _ in visits.values("diagnosis").annotate(n=Count("id")).iterator(chunk_size=1))
say("page", count, "rows", charges() - before, "charge")
try:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 100")
        cursor.execute("SELECT pg_sleep(60)")
except DatabaseError as e:
    say("cancel", e.__cause__.pgcode)
with transaction.atomic():
    try:
        with transaction.atomic():
            visits.first()
    except DatabaseError as e:
        say("error", e.__cause__.pgcode, e.__cause__.diag.message_primary)
    say("recover", 1 if Hospital.objects.count() == 5 else "no")
