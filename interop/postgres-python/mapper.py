"""SQLAlchemy creates, writes and reads tables with protected columns."""

import datetime
import decimal
import os

from sqlalchemy import BigInteger, Date, ForeignKey, LargeBinary, Numeric, String, Text, create_engine, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column, relationship

URL = os.environ["STRONGROOM_URL"].replace("postgres://", "postgresql+psycopg://")
CANARY = "canary-59d2-in-plain-text"


class Base(DeclarativeBase):
    pass


class Person(Base):
    __tablename__ = "person"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(40))
    born: Mapped[datetime.date | None] = mapped_column(Date)
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


def main():
    engine = create_engine(URL)
    Base.metadata.drop_all(engine)
    Base.metadata.create_all(engine)
    mapped(engine)


if __name__ == "__main__":
    main()
