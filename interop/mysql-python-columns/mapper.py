"""SQLAlchemy creates, reflects, writes and reads tables with protected columns."""

import datetime
import decimal

from sqlalchemy import (URL, BigInteger, Boolean, Date, ForeignKey, Integer, LargeBinary, MetaData, Numeric, String,
                        Text, create_engine, delete, func, inspect, select, update)
from sqlalchemy.dialects.mysql import insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship, selectinload

from mysql_answers import CANARY, say, says, settings

own = settings()
engine = create_engine(URL.create("mysql+pymysql", username=own["user"], password=own["password"], host=own["host"],
                                  port=own["port"], database=own["database"], query={"charset": "utf8mb4"}))
OPTIONS = {"mysql_default_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin"}


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"
    __table_args__ = OPTIONS
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(40), unique=True)
    born: Mapped[datetime.date | None] = mapped_column(Date, index=True)
    salary: Mapped[decimal.Decimal | None] = mapped_column(Numeric(12, 2))
    score: Mapped[int | None] = mapped_column(BigInteger)
    photo: Mapped[bytes | None] = mapped_column(LargeBinary)
    active: Mapped[bool | None] = mapped_column(Boolean)
    visits: Mapped[list["Visit"]] = relationship(cascade="all, delete-orphan", order_by="Visit.number")


class Visit(Base):
    __tablename__ = "visit"
    __table_args__ = OPTIONS
    number: Mapped[int] = mapped_column(primary_key=True)
    person_id: Mapped[int | None] = mapped_column(ForeignKey("person.id"))
    note: Mapped[str | None] = mapped_column(Text)


def reflected(when):
    """All that its inspector tells."""
    look = inspect(engine)
    for table in sorted(look.get_table_names()):
        for what in ["columns", "pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints",
                     "table_comment", "table_options"]:
            says(f"{when}: {table}: {what}", lambda: [repr(part) for part in asked(look, what, table)])
    metadata = MetaData()
    metadata.reflect(engine)
    say(f"{when}: reflected", [repr(table) for table in metadata.sorted_tables])
    return metadata


def asked(look, what, table):
    found = getattr(look, f"get_{what}")(table)
    return found if isinstance(found, list) else [found]


reflected("before")
Base.metadata.drop_all(engine)
Base.metadata.create_all(engine)
metadata = reflected("after")

with Session(engine) as session:
    session.add_all(Person(id=number, name=f"{CANARY} {number}", born=datetime.date(1990, 2, 27 + number % 2),
                           salary=decimal.Decimal(number) / 4, score=9007199254740990 + number,
                           photo=bytes([0, 255, number]), active=number % 2 == 0) for number in range(1, 20))
    session.flush()
    session.get(Person, 3).visits = [Visit(note=f"{CANARY} visit {number}") for number in range(3)]
    session.commit()
with Session(engine) as session:
    say("by key", session.get(Person, 3).name)
    say("visits", [visit.note for visit in session.get(Person, 3).visits])
    say("by text", session.scalars(select(Person.id).where(Person.name == f"{CANARY} 7")).all())
    say("several", session.scalars(select(Person.name).where(Person.id.in_([1, 5, 99])).order_by(Person.born)).all())
    say("by range", session.scalars(select(func.count()).select_from(Person)
                                    .where(Person.born >= datetime.date(1990, 2, 28))).all())
    loaded = session.scalars(select(Person).options(selectinload(Person.visits)).where(Person.id == 3)).all()
    say("loaded", [[person.salary, person.photo, len(person.visits)] for person in loaded])
    say("joined", session.execute(select(Person.name, Visit.note).join(Visit).where(Person.id == 3)
                                  .order_by(Visit.number)).all())
    person = session.get(Person, 3)
    person.salary = decimal.Decimal("99.75")
    session.flush()
    session.refresh(person)
    say("changed", person.salary)
    session.rollback()
    say("rolled back", session.get(Person, 3).salary)
    says("updated", lambda: session.execute(update(Person).where(Person.id == 4).values(photo=b"x")).rowcount)
    says("deleted", lambda: session.execute(delete(Person).where(Person.id.in_([18, 19]))).rowcount)
    session.commit()
    upsert = insert(Person).values(id=4, name=f"{CANARY} 4", score=5)
    says("upsert", lambda: session.execute(upsert.on_duplicate_key_update(score=upsert.inserted.score)).rowcount)
    say("upserted", session.execute(select(Person.score).where(Person.id == 4)).all())
    with session.begin_nested() as nested:
        session.add(Person(id=30, name="x"))
        session.flush()
        nested.rollback()
    say("not there", session.get(Person, 30))
    session.add(Person(id=1, name="x"))
    says("duplicate key", session.flush)
    session.rollback()
    session.add(Person(id=31, name=f"{CANARY} 7"))
    says("duplicate name", session.flush)
    session.rollback()
with engine.connect() as connection:
    say("by reflection", connection.execute(select(metadata.tables["person"]).where(
        metadata.tables["person"].c.id == 1)).all())
    streamed = connection.execution_options(stream_results=True).execute(select(Visit.note).order_by(Visit.number))
    say("streamed", [row[0] for row in streamed])
