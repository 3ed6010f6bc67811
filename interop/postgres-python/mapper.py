"""SQLAlchemy creates, reflects, writes and reads tables with protected columns."""

import datetime
import decimal
import os

from sqlalchemy import (BigInteger, Boolean, Date, ForeignKey, Integer, LargeBinary, MetaData, Numeric, String,
                        Text, create_engine, inspect, select)
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

URL = os.environ["STRONGROOM_URL"].replace("postgres://", "postgresql+psycopg://")
CANARY = "canary-59d2-in-plain-text"


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    born: Mapped[datetime.date | None] = mapped_column(Date, index=True)
    salary: Mapped[decimal.Decimal | None] = mapped_column(Numeric(12, 2))
    score: Mapped[int | None] = mapped_column(BigInteger)
    photo: Mapped[bytes | None] = mapped_column(LargeBinary)
    active: Mapped[bool | None]
    visits: Mapped[list["Visit"]] = relationship(cascade="all, delete-orphan")


class Visit(Base):
    __tablename__ = "visit"
    person_id: Mapped[int] = mapped_column(ForeignKey("person.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    note: Mapped[str | None] = mapped_column(Text)


class Letter(Base):
    """The server makes its keys."""

    __tablename__ = "letter"
    id: Mapped[int] = mapped_column(primary_key=True)
    title: Mapped[str] = mapped_column(String(40))
    sent: Mapped[datetime.date | None] = mapped_column(Date)
    fee: Mapped[decimal.Decimal | None] = mapped_column(Numeric(12, 2))
    pages: Mapped[int | None]


def check(what, wanted, got):
    if wanted != got:
        raise AssertionError(f"{what}: expected {wanted!r}, got {got!r}")


def mapped(engine):
    with Session(engine) as session:
        session.add(Person(id=1, name=f"{CANARY} ann", born=datetime.date(1990, 2, 28), score=7,
                           salary=decimal.Decimal("12.50"), photo=b"\0\xff", active=True,
                           visits=[Visit(number=number, note=f"{CANARY} {number}") for number in range(3)]))
        session.add_all(Person(id=number, name=f"{CANARY} {number}") for number in range(2, 20))
        session.commit()
    with Session(engine) as session:
        ann = session.scalars(select(Person).where(Person.name == f"{CANARY} ann")).one()
        check("salary", decimal.Decimal("12.50"), ann.salary)
        check("photo", b"\0\xff", ann.photo)
        check("visits", [f"{CANARY} {number}" for number in range(3)], sorted(visit.note for visit in ann.visits))
        # In batches, from a server-side cursor.
        parts = session.execute(select(Visit.number, Visit.note).order_by(Visit.number)
                                .execution_options(yield_per=2)).partitions()
        check("parts", [[(0, f"{CANARY} 0"), (1, f"{CANARY} 1")], [(2, f"{CANARY} 2")]],
              [[tuple(row) for row in part] for part in parts])
        some = session.scalars(select(Person.id).where(Person.name.in_([f"{CANARY} 5", f"{CANARY} 6"])))
        check("IN", [5, 6], sorted(some))
        ann.salary += 1
        ann.visits.pop()
        session.commit()
    with Session(engine) as session:
        ann = session.get(Person, 1)
        check("changed", decimal.Decimal("13.50"), ann.salary)
        check("fewer", 2, len(ann.visits))
        session.delete(ann)
        session.commit()
        check("gone", None, session.get(Person, 1))
        session.add(Person(id=5, name=CANARY))
        try:
            session.commit()
        except IntegrityError:
            return
        raise AssertionError("a key twice")


def with_keys(engine):
    """Rows that are sent together, and whose keys come back in their order."""
    fee = decimal.Decimal("1.25")
    with Session(engine) as session:
        letters = [Letter(title=f"{CANARY} {number}", sent=datetime.date(1990, 2, 28), fee=fee, pages=number)
                   for number in range(5)]
        letters.append(Letter(title=f"{CANARY} bare"))
        session.add_all(letters)
        session.flush()
        keys = {letter.id: letter.title for letter in letters}
        check("keys", len(letters), len(keys))
        session.commit()
    with Session(engine) as session:
        found = session.scalars(select(Letter)).all()
        check("letters", keys, {letter.id: letter.title for letter in found})
        check("fees", [fee] * 5, [letter.fee for letter in found if letter.pages is not None])
        one = session.scalars(select(Letter).where(Letter.title == f"{CANARY} 3")).one()
        check("pages", 3, one.pages)


def described(column):
    """A column's type with its limits."""
    kind = column["type"]
    limits = [getattr(kind, limit, None) for limit in ("length", "precision", "scale")]
    return type(kind), *(limit for limit in limits if limit is not None), column["nullable"]


PERSON = {
    "id": (Integer, False),
    "name": (String, 40, False),
    "born": (Date, True),
    "salary": (Numeric, 12, 2, True),
    "score": (BigInteger, True),
    "photo": (LargeBinary, True),
    "active": (Boolean, True),
}


def reflected(engine):
    inspector = inspect(engine)
    for table, wanted in (("person", PERSON), ("visit", {"note": (Text, True), "person_id": (Integer, False)})):
        got = {column["name"]: described(column) for column in inspector.get_columns(table)}
        for name, (kind, *rest) in wanted.items():
            check(f"{table}.{name}", True, issubclass(got[name][0], kind))
            check(f"{table}.{name}", rest, list(got[name][1:]))
    check("key", ["id"], inspector.get_pk_constraint("person")["constrained_columns"])
    check("keys", ["person_id", "number"], inspector.get_pk_constraint("visit")["constrained_columns"])
    [foreign] = inspector.get_foreign_keys("visit")
    check("foreign key", (["person_id"], "person", ["id"]),
          (foreign["constrained_columns"], foreign["referred_table"], foreign["referred_columns"]))
    [unique] = inspector.get_unique_constraints("person")
    check("unique", ["name"], unique["column_names"])
    indexes = {index["name"]: (index["column_names"], index["unique"]) for index in inspector.get_indexes("person")}
    check("index", (["born"], False), indexes["ix_person_born"])
    check("view", [], inspector.get_view_names())
    check("comment", None, inspector.get_table_comment("person")["text"])
    check("checks", [], inspector.get_check_constraints("person"))

    metadata = MetaData()
    metadata.reflect(engine)
    check("tables", {"person", "visit", "letter"}, set(metadata.tables))
    person = metadata.tables["person"]
    check("salary", (12, 2), (person.c.salary.type.precision, person.c.salary.type.scale))
    with engine.begin() as connection:
        row = {"id": 1, "name": f"{CANARY} reflected", "salary": decimal.Decimal("0.50"), "photo": b"\0"}
        connection.execute(person.insert(), row)
        found = connection.execute(select(person).where(person.c.name == row["name"])).mappings().one()
        check("row", row, {name: found[name] for name in row})
        connection.execute(person.delete())


def main():
    engine = create_engine(URL)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    reflected(engine)
    mapped(engine)
    with_keys(engine)


if __name__ == "__main__":
    main()
