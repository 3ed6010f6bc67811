//! diesel over libpq: embedded migrations, its query builder, associations, upserts, transactions.

use std::env;

use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use diesel::connection::SimpleConnection;
use diesel::dsl::{avg, count, count_star, date, exists, max, min, not, now, sum};
use diesel::pg::upsert::excluded;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Integer, Nullable, Numeric, Text};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use interop_rust_mappers as data;
use interop_rust_mappers::{CANARY, text};
use serde::Serialize;
use uuid::Uuid;

const MIGRATIONS: EmbeddedMigrations = embed_migrations!("migrations/diesel");

diesel::table! {
    authors (id) {
        id -> Uuid,
        name -> Varchar,
        mail -> Nullable<Text>,
        born -> Nullable<Date>,
        active -> Bool,
        made -> Timestamptz,
    }
}
diesel::table! {
    books (id) {
        id -> Integer,
        author_id -> Nullable<Uuid>,
        title -> Text,
        price -> Nullable<Numeric>,
        sold -> BigInt,
        published -> Nullable<Timestamp>,
        facts -> Nullable<Jsonb>,
        labels -> Nullable<Array<Text>>,
    }
}
diesel::table! {
    reviews (book_id, reader) {
        book_id -> Integer,
        reader -> Varchar,
        stars -> SmallInt,
        note -> Nullable<Text>,
    }
}
diesel::joinable!(books -> authors (author_id));
diesel::joinable!(reviews -> books (book_id));
diesel::allow_tables_to_appear_in_same_query!(authors, books, reviews);
diesel::define_sql_function! { fn lower(x: Text) -> Text; }
diesel::define_sql_function! { fn coalesce(x: Nullable<Numeric>, y: Numeric) -> Numeric; }

#[derive(Serialize, Queryable, Selectable, Identifiable, Insertable, AsChangeset)]
#[diesel(table_name = authors)]
struct Author {
    id: Uuid,
    name: String,
    mail: Option<String>,
    born: Option<NaiveDate>,
    active: bool,
    made: DateTime<Utc>,
}

#[derive(Serialize, Queryable, Selectable, Identifiable, Associations)]
#[diesel(table_name = books, belongs_to(Author))]
struct Book {
    id: i32,
    author_id: Option<Uuid>,
    title: String,
    price: Option<BigDecimal>,
    sold: i64,
    published: Option<NaiveDateTime>,
    facts: Option<serde_json::Value>,
    labels: Option<Vec<String>>,
}

#[derive(Insertable)]
#[diesel(table_name = books)]
struct NewBook {
    author_id: Option<Uuid>,
    title: String,
    price: Option<BigDecimal>,
    sold: i64,
    published: Option<NaiveDateTime>,
    facts: Option<serde_json::Value>,
    labels: Option<Vec<String>>,
}

#[derive(Clone, Insertable, Serialize, Queryable, Selectable, AsChangeset)]
#[diesel(table_name = reviews)]
struct Review {
    book_id: i32,
    reader: String,
    stars: i16,
    note: Option<String>,
}

#[derive(AsChangeset)]
#[diesel(table_name = authors)]
struct Changes {
    name: Option<String>,
    mail: Option<Option<String>>,
}

#[derive(Serialize, QueryableByName)]
struct ByYear {
    #[diesel(sql_type = Integer)]
    year: i32,
    #[diesel(sql_type = BigInt)]
    books: i64,
    #[diesel(sql_type = Nullable<Text>)]
    titles: Option<String>,
}

/// Writes an answer, or the kind of an error.
fn show<T: Serialize>(what: &str, answer: QueryResult<T>) {
    data::show(what, answer, |error| {
        eprintln!("{what}: {error:?}");
        match &error {
            Error::DatabaseError(kind, told) => {
                format!("{kind:?} {}", told.constraint_name().unwrap_or_default())
            }
            error => error.to_string(),
        }
    });
}

fn main() {
    let db = &mut PgConnection::establish(&env::var("STRONGROOM_URL").unwrap()).unwrap();
    for what in ["migrated", "migrated again"] {
        let run = db.run_pending_migrations(MIGRATIONS).map(|done| done.len());
        data::show(what, run, |error| error.to_string());
    }
    let redone = db
        .revert_last_migration(MIGRATIONS)
        .and_then(|_| db.run_pending_migrations(MIGRATIONS).map(|done| done.len()));
    data::show("redone", redone, |error| error.to_string());
    // A text that uses what it has altered, as a migration may.
    show(
        "altered and used",
        db.batch_execute(
            "ALTER TABLE reviews ADD COLUMN extra TEXT;
        UPDATE reviews SET extra = note; ALTER TABLE reviews DROP COLUMN extra",
        ),
    );
    written(db);
    read(db);
    computed(db);
    changed(db);
}

fn new_book(number: u32) -> NewBook {
    NewBook {
        author_id: Some(data::key(number % 3)),
        title: data::title(number),
        price: data::price(number).map(|price| price.parse().unwrap()),
        sold: i64::from(number) * 1000,
        published: Some(data::published(number)),
        facts: data::facts(number),
        labels: (number % 4 != 0).then(|| vec![text("l"), format!("n{number}")]),
    }
}

fn written(db: &mut PgConnection) {
    let made: Vec<_> = (0..5)
        .map(|number| {
            let (name, mail, born, active) = data::author(number);
            Author {
                id: data::key(number),
                name,
                mail,
                born,
                active,
                made: data::made(),
            }
        })
        .collect();
    show(
        "authors",
        diesel::insert_into(authors::table)
            .values(&made)
            .execute(db),
    );
    let new: Vec<_> = (0..24).map(new_book).collect();
    show(
        "books",
        diesel::insert_into(books::table)
            .values(&new)
            .returning(books::id)
            .get_results::<i32>(db),
    );
    let bare = diesel::insert_into(authors::table)
        .values((authors::id.eq(data::key(9)), authors::name.eq(text("bare"))));
    show(
        "with defaults",
        bare.returning((authors::active, authors::mail))
            .get_result::<(bool, Option<String>)>(db),
    );
    let given: Vec<_> = [(1, 4), (2, 5), (3, 1)]
        .map(|(book_id, stars)| Review {
            book_id,
            reader: text("ann"),
            stars,
            note: None,
        })
        .into();
    show(
        "reviews",
        diesel::insert_into(reviews::table)
            .values(&given)
            .execute(db),
    );
    show(
        "key twice",
        diesel::insert_into(reviews::table)
            .values(&given[0])
            .execute(db),
    );
    show(
        "no author",
        diesel::insert_into(books::table)
            .values(NewBook {
                author_id: Some(data::key(77)),
                ..new_book(1)
            })
            .execute(db),
    );
    let long = Review {
        reader: text("r".repeat(80)),
        ..given[0].clone()
    };
    show(
        "too long",
        diesel::insert_into(reviews::table).values(long).execute(db),
    );
    show(
        "ignored",
        diesel::insert_into(reviews::table)
            .values(&given)
            .on_conflict_do_nothing()
            .execute(db),
    );
    let again: Vec<_> = given
        .iter()
        .map(|one| Review {
            stars: 2,
            note: Some(text("again")),
            ..one.clone()
        })
        .collect();
    show(
        "replaced",
        diesel::insert_into(reviews::table)
            .values(&again)
            .on_conflict((reviews::book_id, reviews::reader))
            .do_update()
            .set((
                reviews::stars.eq(excluded(reviews::stars)),
                reviews::note.eq(excluded(reviews::note)),
            ))
            .execute(db),
    );
    show(
        "set",
        diesel::insert_into(reviews::table)
            .values(&again[0])
            .on_conflict((reviews::book_id, reviews::reader))
            .do_update()
            .set(reviews::note.eq(text("set")))
            .returning(Review::as_returning())
            .get_result(db),
    );
    // It is undone: no other answer depends on it.
    let _: QueryResult<()> = db.transaction(|db| {
        show(
            "counted up",
            diesel::insert_into(reviews::table)
                .values(&again[0])
                .on_conflict((reviews::book_id, reviews::reader))
                .do_update()
                .set(reviews::stars.eq(reviews::stars + 1))
                .execute(db),
        );
        Err(Error::RollbackTransaction)
    });
    let copied = authors::table
        .filter(authors::name.eq(text("bbb")))
        .select((
            authors::id,
            authors::name,
            authors::name
                .is_null()
                .into_sql::<diesel::sql_types::Bool>(),
        ));
    show("what is copied", copied.load::<(Uuid, String, bool)>(db));
    let from_query = books::table
        .filter(books::sold.ge(22_000))
        .select((books::title, books::sold));
    show(
        "from a query",
        diesel::insert_into(books::table)
            .values(from_query)
            .into_columns((books::title, books::sold))
            .execute(db),
    );
}

fn read(db: &mut PgConnection) {
    show(
        "found",
        authors::table
            .find(data::key(1))
            .select(Author::as_select())
            .first(db),
    );
    show(
        "not found",
        authors::table
            .find(data::key(50))
            .select(Author::as_select())
            .first(db),
    );
    show(
        "optional",
        authors::table
            .filter(authors::name.eq("nobody"))
            .select(authors::id)
            .first::<Uuid>(db)
            .optional(),
    );
    let ids = || books::table.select(books::id).order(books::id);
    show(
        "like",
        ids().filter(books::title.like("%Almanac%")).load::<i32>(db),
    );
    show(
        "ilike",
        ids()
            .filter(books::title.ilike("%NOVEL 1_"))
            .load::<i32>(db),
    );
    show(
        "escaped",
        ids()
            .filter(books::title.like("%100!%%").escape('!'))
            .load::<i32>(db),
    );
    show(
        "not like",
        ids()
            .filter(books::title.not_like("%novel%"))
            .load::<i32>(db),
    );
    show(
        "similar",
        ids()
            .filter(books::title.similar_to("%(novel 1|of 1)_"))
            .load::<i32>(db),
    );
    show(
        "any",
        ids()
            .filter(books::title.eq_any([data::title(1), data::title(5)]))
            .load::<i32>(db),
    );
    show(
        "none of",
        ids()
            .filter(books::title.ne_all((0..20).map(data::title).collect::<Vec<_>>()))
            .load::<i32>(db),
    );
    show(
        "between",
        ids()
            .filter(books::price.between(
                "3".parse::<BigDecimal>().unwrap(),
                "8.5".parse::<BigDecimal>().unwrap(),
            ))
            .load::<i32>(db),
    );
    show("null", ids().filter(books::price.is_null()).load::<i32>(db));
    show(
        "distinct from",
        ids()
            .filter(books::price.is_distinct_from("1.5".parse::<BigDecimal>().ok()))
            .filter(books::sold.lt(3000))
            .load::<i32>(db),
    );
    show(
        "or",
        ids()
            .filter(books::sold.lt(2000).or(books::sold.gt(21000)))
            .load::<i32>(db),
    );
    show(
        "day",
        ids()
            .filter(date(books::published.assume_not_null()).eq(data::date(2003, 4, 3)))
            .load::<i32>(db),
    );
    show(
        "before now",
        ids()
            .filter(books::published.lt(now.nullable()))
            .filter(books::sold.lt(3000))
            .load::<i32>(db),
    );
    show(
        "lower",
        ids()
            .filter(lower(books::title).like("%almanac%"))
            .limit(2)
            .load::<i32>(db),
    );
    show(
        "JSON",
        ids()
            .filter(books::facts.retrieve_as_text("kind").eq(text(1)))
            .load::<i32>(db),
    );
    show(
        "JSON contains",
        ids()
            .filter(books::facts.contains(serde_json::json!({"pages": 50})))
            .load::<i32>(db),
    );
    show(
        "labels",
        ids()
            .filter(books::labels.contains(vec!["n7".to_owned()]))
            .load::<i32>(db),
    );
    show(
        "overlap",
        ids()
            .filter(books::labels.overlaps_with(vec!["n7".to_owned(), "n9".to_owned()]))
            .load::<i32>(db),
    );
    let mut boxed = books::table.into_boxed();
    for word in ["novel", "1"] {
        boxed = boxed.filter(books::title.like(format!("%{word}%")));
    }
    show(
        "boxed",
        boxed
            .order(books::sold.desc())
            .offset(1)
            .limit(3)
            .select(Book::as_select())
            .load(db),
    );
    show(
        "ordered",
        books::table
            .order((books::price.desc().nulls_last(), books::title))
            .select(books::id)
            .limit(6)
            .load::<i32>(db),
    );
    show(
        "joined",
        books::table
            .inner_join(authors::table)
            .filter(authors::mail.eq(format!("{CANARY}2@example.com")))
            .filter(books::sold.gt(9000))
            .select((books::title, authors::name))
            .order(books::id)
            .load::<(String, String)>(db),
    );
    show(
        "left join",
        authors::table
            .left_join(books::table)
            .filter(books::id.is_null())
            .select(Author::as_select())
            .order(authors::name)
            .load(db)
            .map(|found| found.into_iter().map(|one| one.name).collect::<Vec<_>>()),
    );
    show(
        "three tables",
        reviews::table
            .inner_join(books::table.inner_join(authors::table))
            .select((reviews::stars, books::title, authors::name))
            .order(reviews::book_id)
            .load::<(i16, String, String)>(db),
    );
    let all = authors::table
        .order(authors::id)
        .select(Author::as_select())
        .load(db)
        .unwrap();
    show(
        "belonging",
        Book::belonging_to(&all)
            .order(books::id)
            .select(Book::as_select())
            .load(db)
            .map(|found: Vec<Book>| {
                found
                    .grouped_by(&all)
                    .iter()
                    .map(Vec::len)
                    .collect::<Vec<_>>()
            }),
    );
    show(
        "exists",
        diesel::select(exists(books::table.filter(books::title.eq(data::title(3)))))
            .get_result::<bool>(db),
    );
    let written = books::table.filter(books::author_id.eq(authors::id.nullable()));
    show(
        "not exists",
        authors::table
            .filter(not(exists(written)))
            .select(authors::name)
            .order(authors::name)
            .load::<String>(db),
    );
    show(
        "in a query",
        ids()
            .filter(
                books::author_id.eq_any(
                    authors::table
                        .filter(authors::born.gt(data::date(1960, 1, 1)))
                        .select(authors::id.nullable()),
                ),
            )
            .load::<i32>(db),
    );
    show(
        "distinct on",
        books::table
            .distinct_on(books::author_id)
            .order((books::author_id, books::sold.desc()))
            .select((books::author_id, books::sold))
            .load::<(Option<Uuid>, i64)>(db),
    );
    show(
        "union",
        authors::table
            .select(authors::name)
            .filter(authors::active)
            .union(
                books::table
                    .select(books::title)
                    .filter(books::sold.lt(2000)),
            )
            .load::<String>(db)
            .map(|mut found| {
                found.sort();
                found
            }),
    );
    show(
        "locked",
        books::table
            .filter(books::title.eq(data::title(4)))
            .select(books::id)
            .for_update()
            .skip_locked()
            .load::<i32>(db),
    );
}

fn computed(db: &mut PgConnection) {
    show(
        "count",
        books::table
            .filter(books::title.like("%novel%"))
            .count()
            .get_result::<i64>(db),
    );
    show(
        "aggregates",
        books::table
            .select((
                sum(books::price),
                avg(books::price),
                min(books::published),
                max(books::title),
            ))
            .first::<(
                Option<BigDecimal>,
                Option<BigDecimal>,
                Option<NaiveDateTime>,
                Option<String>,
            )>(db),
    );
    show(
        "groups",
        books::table
            .group_by(books::author_id)
            .select((books::author_id, count_star(), max(books::sold)))
            .order(books::author_id)
            .load::<(Option<Uuid>, i64, Option<i64>)>(db),
    );
    show(
        "having",
        books::table
            .group_by(books::author_id)
            .having(sum(books::price).gt("80".parse::<BigDecimal>().unwrap()))
            .select((books::author_id, count(books::price)))
            .order(books::author_id)
            .load::<(Option<Uuid>, i64)>(db),
    );
    show(
        "distinct count",
        books::table
            .select(count(books::author_id).aggregate_distinct())
            .first::<i64>(db),
    );
    show(
        "coalesced",
        books::table
            .order(books::id)
            .limit(3)
            .select((
                books::id,
                coalesce(books::price, "0".parse::<BigDecimal>().unwrap()).into_sql::<Numeric>(),
            ))
            .load::<(i32, BigDecimal)>(db),
    );
    show(
        "concatenated",
        books::table
            .order(books::id)
            .limit(2)
            .select(books::title.concat("!"))
            .load::<String>(db),
    );
    let by_year = diesel::sql_query(
        "SELECT extract(year FROM published)::int AS year, count(*) \
    AS books,
        string_agg(title, ', ' ORDER BY title) FILTER (WHERE sold < $1) AS titles FROM books \
        WHERE published IS NOT NULL GROUP BY 1 ORDER BY 1",
    );
    show(
        "by year",
        by_year.bind::<BigInt, _>(5000i64).load::<ByYear>(db),
    );
    show(
        "dates",
        authors::table
            .order(authors::id)
            .filter(authors::born.is_not_null())
            .select(diesel::dsl::sql::<Text>("to_char(born, 'DD Mon YYYY')"))
            .load::<String>(db),
    );
}

fn changed(db: &mut PgConnection) {
    show(
        "incremented",
        diesel::update(books::table.find(3))
            .set(books::sold.eq(books::sold + 5))
            .returning(books::sold)
            .get_result::<i64>(db),
    );
    show(
        "dearer",
        diesel::update(books::table.filter(books::title.like("%Almanac%")))
            .set(books::price.eq(books::price * "2".parse::<BigDecimal>().unwrap()))
            .execute(db),
    );
    show(
        "changeset",
        diesel::update(authors::table.find(data::key(3)))
            .set(Changes {
                name: Some(text("changed")),
                mail: Some(None),
            })
            .execute(db),
    );
    show(
        "nothing changed",
        diesel::update(authors::table.find(data::key(3)))
            .set(Changes {
                name: None,
                mail: None,
            })
            .execute(db),
    );
    let saved = authors::table
        .find(data::key(2))
        .select(Author::as_select())
        .first(db)
        .and_then(|mut author| {
            author.active = !author.active;
            author.name = text("saved");
            author.save_changes::<Author>(db)
        });
    show("saved", saved);
    let of = authors::table
        .filter(authors::name.eq(text("aaa")))
        .select(authors::id.nullable());
    show(
        "by a query",
        diesel::update(books::table.filter(books::author_id.eq_any(of)))
            .set(books::title.eq(books::title.concat(" by a")))
            .execute(db),
    );
    let undone: QueryResult<()> = db.transaction(|db| {
        diesel::delete(reviews::table).execute(db)?;
        let inner: QueryResult<usize> = db.transaction(|db| {
            diesel::insert_into(authors::table)
                .values((
                    authors::id.eq(data::key(1)),
                    authors::name.eq(text("twice")),
                ))
                .execute(db)
        });
        show("inner", inner);
        show("inside", reviews::table.count().get_result::<i64>(db));
        Err(Error::RollbackTransaction)
    });
    show("undone", undone);
    let serial = db
        .build_transaction()
        .serializable()
        .read_only()
        .run(|db| reviews::table.count().get_result::<i64>(db));
    show("serializable", serial);
    show(
        "deleted",
        diesel::delete(books::table.filter(books::price.gt("40".parse::<BigDecimal>().unwrap())))
            .returning(books::id)
            .get_results::<i32>(db)
            .map(|mut ids| {
                ids.sort();
                ids
            }),
    );
    show(
        "all deleted",
        diesel::delete(reviews::table.filter(reviews::stars.lt(3))).execute(db),
    );
    show(
        "books left",
        books::table
            .order(books::id)
            .select(Book::as_select())
            .load(db),
    );
    show(
        "authors left",
        authors::table
            .order(authors::id)
            .filter(authors::name.ne(text("bare")))
            .select(Author::as_select())
            .load(db),
    );
}
