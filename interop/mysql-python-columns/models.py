"""Django over PyMySQL: its schema editor, introspection, and what a program does with models."""

import datetime
import decimal
import io

import django
import pymysql
from django.conf import settings as django_settings

from mysql_answers import CANARY, say, says, settings

# Django asks for mysqlclient of at least this version, and takes PyMySQL by this name.
pymysql.install_as_MySQLdb()
pymysql.version_info = (2, 2, 7, "final", 0)

own = settings()
django_settings.configure(
    INSTALLED_APPS=[], USE_TZ=False, DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    DATABASES={"default": {
        "ENGINE": "django.db.backends.mysql", "NAME": own["database"], "USER": own["user"],
        "PASSWORD": own["password"], "HOST": own["host"], "PORT": own["port"],
        "OPTIONS": {"charset": "utf8mb4", "collation": "utf8mb4_bin"}}})
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import DatabaseError, connection, models, transaction  # noqa: E402


class Person(models.Model):
    id = models.IntegerField(primary_key=True)
    name = models.CharField(max_length=40)
    born = models.DateField(null=True, db_index=True)
    salary = models.DecimalField(max_digits=12, decimal_places=2, null=True)
    score = models.BigIntegerField(null=True)
    photo = models.BinaryField(null=True)
    active = models.BooleanField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "person"


class Visit(models.Model):
    number = models.AutoField(primary_key=True)
    person = models.ForeignKey(Person, models.CASCADE, null=True)
    note = models.TextField(null=True)

    class Meta:
        app_label = "shop"
        db_table = "visit"


def introspected(when):
    with connection.cursor() as cursor:
        look = connection.introspection
        say(f"{when}: tables", look.get_table_list(cursor))
        for table in ["person", "visit"]:
            for what in ["table_description", "relations", "constraints", "primary_key_columns", "sequences"]:
                says(f"{when}: {table}: {what}", lambda: getattr(look, f"get_{what}")(cursor, table))
    text = io.StringIO()
    call_command("inspectdb", stdout=text)
    say(f"{when}: inspectdb", text.getvalue().splitlines())


introspected("before")
with connection.cursor() as cursor:
    cursor.execute("DROP TABLE visit")
    cursor.execute("DROP TABLE person")
with connection.schema_editor(atomic=False) as editor:
    editor.create_model(Person)
with connection.schema_editor(atomic=False) as editor:
    editor.create_model(Visit)
introspected("after")

Person.objects.create(id=1, name=f"{CANARY} ann", born=datetime.date(1990, 2, 28), score=9007199254740993,
                      salary=decimal.Decimal("12.50"), photo=b"\0\xff", active=True)
Person.objects.bulk_create([Person(id=number, name=f"{CANARY} {number}") for number in range(2, 20)])
for number in range(3):
    Visit.objects.create(person_id=1, note=f"{CANARY} {number}")
say("all", list(Person.objects.order_by("born").values_list()[:1]))
say("by key", Person.objects.get(pk=1).name)
say("by text", list(Person.objects.filter(name=f"{CANARY} 7").values_list("id")))
says("in bulk", lambda: sorted(Person.objects.in_bulk([2, 3])))
says("by range", lambda: list(Person.objects.filter(born__lt=datetime.date(2000, 1, 1)).values("id", "salary")))
says("exists", Person.objects.filter(pk=7).exists)
says("none", Person.objects.filter(salary__isnull=True).count)
says("count", Person.objects.count)
says("join", lambda: list(Visit.objects.filter(person__name=f"{CANARY} ann").order_by("number")
                          .values_list("note", "person__salary")))
says("fetched", lambda: [[visit.person.name, visit.note] for visit in
                         Visit.objects.select_related("person").order_by("number")])
says("prefetched", lambda: [len(person.visit_set.all()) for person in
                            Person.objects.filter(pk=1).prefetch_related("visit_set")])
says("sum", lambda: Person.objects.aggregate(models.Sum("salary")))
says("most", lambda: Person.objects.aggregate(models.Max("born")))
says("update", lambda: Person.objects.filter(pk=2).update(salary=decimal.Decimal("3.25")))
says("increment", lambda: Person.objects.filter(pk=1).update(score=models.F("score") + 1))
person = Person.objects.get(pk=1)
say("increased", person.score)
person.name = f"{CANARY} anna"
says("save", person.save)
says("get or create", lambda: Person.objects.get_or_create(id=1, defaults={"name": "x"})[1])
says("update or create", lambda: Person.objects.update_or_create(id=40, defaults={"name": "y"})[1])
says("locked", lambda: Person.objects.select_for_update().filter(pk=1).count())
try:
    with transaction.atomic():
        Person.objects.filter(pk=1).update(name="z")
        try:
            with transaction.atomic():
                Person.objects.create(id=1, name="x")
        except DatabaseError as error:
            say("duplicate key", [type(error).__name__, *error.args])
        raise KeyError
except KeyError:
    pass
say("rolled back", Person.objects.get(pk=1).name)
says("ignored", lambda: len(Person.objects.bulk_create([Person(id=1, name="x"), Person(id=41, name="x")],
                                                       ignore_conflicts=True)))
says("upserted", lambda: len(Person.objects.bulk_create([Person(id=1, name="up", score=3)], update_conflicts=True,
                                                        update_fields=["name"])))
says("streamed", lambda: [visit.note for visit in Visit.objects.order_by("number").iterator(chunk_size=2)])
says("delete visits", lambda: Visit.objects.filter(person=1).delete())
says("delete", lambda: Person.objects.filter(pk=1).delete())
says("left", lambda: [Person.objects.count(), Visit.objects.count()])
