import jakarta.persistence.LockModeType;
import jakarta.persistence.OptimisticLockException;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.temporal.Temporal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;
import org.hibernate.query.criteria.HibernateCriteriaBuilder;

/** Hibernate: it makes the tables, and asks what programs ask. It writes a line for each answer. */
final class Client {
    private static final String CANARY = "canary-59d2-in-plain-text";

    private Client() {}

    private static SessionFactory open(String schema) {
        var configuration = new Configuration();
        Entities.ALL.forEach(configuration::addAnnotatedClass);
        Map.of(
                "hibernate.connection.url", System.getenv("STRONGROOM_JDBC_URL"),
                "hibernate.hbm2ddl.auto", schema,
                "hibernate.hbm2ddl.halt_on_error", "true",
                "hibernate.jdbc.batch_size", "10",
                "hibernate.order_inserts", "true",
                "hibernate.jdbc.time_zone", "UTC",
                "hibernate.default_batch_fetch_size", "4"
        ).forEach(configuration::setProperty);
        return configuration.buildSessionFactory();
    }

    public static void main(String[] arguments) {
        java.util.logging.LogManager.getLogManager().reset();
        open("create").close();
        // What `update` and `validate` read of the tables is what `create` has made.
        open("update").close();
        try (var factory = open("validate")) {
            var client = new Shown(factory);
            write(client);
            query(client);
            compute(client);
            select(client);
            relate(client);
            change(client);
        }
    }

    /** Shows what an action in a transaction of its own gives. */
    record Shown(SessionFactory factory) {
        void show(String what, Function<Session, Object> action) {
            String answer;
            try {
                answer = json(factory.fromTransaction(action::apply));
            } catch (RuntimeException error) {
                answer = '"' + code(what, error) + '"';
            }
            System.out.println(what + '\t' + answer);
        }

        void done(String what, Consumer<Session> action) {
            show(what, session -> {
                action.accept(session);
                return "";
            });
        }

        /** A query with pairs of names and values. */
        void asked(String what, String query, Object... values) {
            show(what, session -> {
                var asked = session.createQuery(query, Object.class);
                for (int at = 0; at < values.length; at += 2) {
                    asked.setParameter((String) values[at], values[at + 1]);
                }
                return asked.getResultList();
            });
        }

        void changed(String what, String statement, Object... values) {
            show(what, session -> {
                var asked = session.createMutationQuery(statement);
                for (int at = 0; at < values.length; at += 2) {
                    asked.setParameter((String) values[at], values[at + 1]);
                }
                return asked.executeUpdate();
            });
        }
    }

    /** The server's code, or the kind of an error. */
    private static String code(String what, Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException refused) {
                System.err.println(what + ": " + error.getMessage());
                return refused.getSQLState();
            }
        }
        System.err.println(what + ": " + error);
        return error.getClass().getSimpleName();
    }

    private static String json(Object value) {
        if (value == null || value instanceof Boolean) {
            return String.valueOf(value);
        } else if (value instanceof Object[] row) {
            return json(Arrays.asList(row));
        } else if (value instanceof Iterable<?> rows) {
            var texts = new ArrayList<String>();
            rows.forEach(row -> texts.add(json(row)));
            return texts.toString();
        } else if (value instanceof byte[] bytes) {
            return json(HexFormat.of().formatHex(bytes));
        } else if (value instanceof Number number) {
            return number.getClass().getSimpleName() + ' ' + number;
        } else if (value instanceof String || value instanceof UUID || value instanceof Temporal || value instanceof Duration) {
            return '"' + value.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
        } else if (value instanceof Entities.Author author) {
            return json(Arrays.asList(author.id, author.name, author.mail, author.born, author.active,
                    author.address == null ? null : author.address.street, author.version));
        } else if (value instanceof Entities.Book book) {
            return json(Arrays.asList(book.id, book.title, book.price, book.sold, book.published, book.changed, book.stars,
                    book.version));
        } else if (value instanceof Entities.Payment payment) {
            return json(Arrays.asList(payment.getClass().getSimpleName(), payment.id, payment.amount));
        }
        return json(value.toString());
    }

    private static String text(Object of) {
        return CANARY + ' ' + of;
    }

    private static UUID key(int number) {
        return UUID.fromString("59d20000-0000-4000-8000-%012d".formatted(number));
    }

    private static Entities.Author author(int number) {
        var author = new Entities.Author();
        author.id = key(number);
        author.name = text(String.valueOf("abcde".charAt(number)).repeat(3));
        author.active = number % 2 == 0;
        if (number != 4) {
            author.mail = CANARY + number + "@example.com";
            author.born = LocalDate.of(1950 + number * 7, number + 1, 3);
            author.address = new Entities.Address();
            author.address.street = text("street " + number);
            author.address.postcode = "7000" + number;
            author.card = new Entities.Card();
            author.card.author = author;
            author.card.number = text("card " + number);
            author.card.amount = number * 12.5;
            author.card.photo = new byte[] {0, -1, (byte) number};
            author.phones.put(text("home"), "0" + number);
            author.phones.put(text("work"), text(number));
        }
        return author;
    }

    private static Entities.Book book(Session session, int number) {
        var book = new Entities.Book();
        book.title = text(number % 5 == 0 ? "Almanac 100% of " + number : "novel " + number);
        book.price = number % 7 == 0 ? null : new BigDecimal(number + ".50");
        book.sold = number * 1000L;
        book.published = LocalDateTime.of(2000 + number % 4, number % 12 + 1, 3, number, 0);
        book.changed = Instant.parse("2024-02-28T12:00:00Z").plusSeconds(number * 3600L);
        book.stars = number % 3 == 0 ? null : (short) (number % 6);
        book.author = session.getReference(Entities.Author.class, key(number % 3));
        return book;
    }

    private static void write(Shown client) {
        client.done("authors", session -> {
            for (int number = 0; number < 5; number++) {
                session.persist(author(number));
            }
        });
        client.done("tags", session -> {
            for (var name : List.of("red", "green", "blue")) {
                session.persist(new Entities.Tag(text(name), name.equals("red") ? null : text("note of " + name)));
            }
        });
        client.done("books", session -> {
            for (int number = 0; number < 24; number++) {
                var book = book(session, number);
                if (number % 4 == 1) {
                    book.tags.add(session.getReference(Entities.Tag.class, text("red")));
                    book.tags.add(session.getReference(Entities.Tag.class, text("blue")));
                }
                session.persist(book);
            }
        });
        client.done("payments", session -> {
            for (long number = 1; number < 5; number++) {
                Entities.Payment payment;
                if (number % 2 == 0) {
                    var card = new Entities.ByCard();
                    card.holder = text("holder " + number);
                    payment = card;
                } else {
                    var cash = new Entities.InCash();
                    cash.currency = "EUR";
                    cash.kept = Duration.ofMinutes(number);
                    payment = cash;
                }
                payment.id = number;
                payment.amount = new BigDecimal(number + ".25");
                payment.payer = session.getReference(Entities.Author.class, key((int) number % 2));
                session.persist(payment);
            }
        });
        client.done("log", session -> {
            for (int number = 0; number < 25; number++) {
                var log = new Entities.Log();
                log.at = Instant.parse("2024-02-28T12:00:00Z").plusSeconds(number);
                log.line = text("line " + number);
                session.persist(log);
            }
        });
        client.done("key twice", session -> session.persist(new Entities.Tag(text("red"), null)));
        client.done("too long", session -> session.persist(new Entities.Tag(text("x".repeat(80)), null)));
        client.done("no author", session -> {
            var book = book(session, 1);
            book.author = session.getReference(Entities.Author.class, key(77));
            session.persist(book);
        });
        client.done("merged", session -> {
            var tag = new Entities.Tag(text("red"), text("merged"));
            session.merge(tag);
            session.merge(new Entities.Tag(text("new"), null));
        });
    }

    private static void query(Shown client) {
        client.show("found", session -> session.find(Entities.Author.class, key(1)));
        client.show("not found", session -> session.find(Entities.Author.class, key(99)));
        client.show("several", session -> session.byMultipleIds(Entities.Author.class).multiLoad(key(0), key(3), key(50)));
        client.asked("equal", "from Author where name = :name", "name", text("bbb"));
        client.asked("like", "select id, title from Book where title like :part order by id", "part", "%Almanac%");
        client.asked("like, escaped", "select id from Book where title like :part escape '!' order by id", "part", "%100!%%");
        client.asked("lower like", "select id from Book where lower(title) like lower(:part) order by id", "part", "%NOVEL 1_");
        client.asked("ilike", "select id from Book where title ilike '%' || :part || '%' order by id", "part", "almanac");
        client.asked("not like", "select id from Book where title not like '%novel%' and sold < 9000 order by id");
        client.asked("in", "select id from Book where title in (:titles) order by id", "titles", List.of(text("novel 1"), text("novel 3")));
        client.asked("between", "from Book where price between 3 and 8.5 order by price");
        client.asked("null", "select id from Book where price is null order by id");
        client.asked("implicit join", "select id from Book where author.name = :name and author.address.postcode < '70001' order by id",
                "name", text("aaa"));
        client.asked("exists", "select name from Author a where exists (select 1 from Book b where b.author = a) order by name");
        client.asked("is empty", "select name from Author a where a.books is empty order by name");
        client.asked("member of", "select b.id from Book b where :tag member of b.tags order by b.id", "tag", new Entities.Tag(text("red"), null));
        client.asked("size", "select a.name, size(a.books) from Author a order by a.name");
        client.asked("subquery", "select id from Book where price > (select avg(price) from Book) order by id");
        client.asked("all", "select id from Book where sold >= all (select sold from Book where sold < 22000) order by id");
        client.asked("in a query", "select id from Book where author.id in (select id from Author where born > :born) order by id",
                "born", LocalDate.of(1960, 1, 1));
        client.asked("tuples", "select id from Book where (sold, stars) = (4000, 4)");
        client.asked("time", "select id from Book where published >= :at order by published", "at", LocalDateTime.of(2003, 5, 1, 0, 0));
        client.asked("instant", "select id from Book where changed < :at order by id", "at", Instant.parse("2024-02-28T15:30:00Z"));
        client.asked("before now", "select count(*) from Book where published < local datetime and changed < instant");
        client.asked("year", "select id from Book where year(published) = 2002 and month(published) > 3 order by id");
        client.asked("day", "select id from Book where cast(published as LocalDate) = :day", "day", LocalDate.of(2003, 4, 3));
        client.asked("ordered", "select id from Book order by price desc nulls last, title");
        client.asked("ordered by a relation", "select b.id from Book b left join b.author a order by a.name desc, b.sold");
        client.asked("map", "select a.name, key(p), value(p) from Author a join a.phones p where value(p) like '%1' order by a.name, key(p)");
        client.show("page", session -> session.createQuery("from Book order by sold", Entities.Book.class)
                .setFirstResult(5).setMaxResults(3).getResultList());
        client.show("first of many", session -> session.createQuery("from Book where title like '%novel%' order by id desc", Entities.Book.class)
                .setMaxResults(1).uniqueResult());
        client.show("scrolled", session -> {
            var titles = new ArrayList<String>();
            try (var rows = session.createQuery("select title from Book where sold < 6000 order by id", String.class).setFetchSize(2).scroll()) {
                while (rows.next()) {
                    titles.add(rows.get());
                }
            }
            return titles;
        });
        client.show("streamed", session -> session.createQuery("select line from Log order by at", String.class).setFetchSize(10)
                .getResultStream().toList());
        client.asked("payments of all kinds", "from Payment order by id");
        client.asked("payments of one kind", "select id, holder from ByCard where holder like '%4'");
        client.asked("treated", "select p.id, treat(p as InCash).kept from Payment p where type(p) = InCash order by p.id");
        client.show("native", session -> session.createNativeQuery("SELECT * FROM book WHERE title ILIKE :part ORDER BY id", Entities.Book.class)
                .setParameter("part", "%NOVEL 2%").getResultList());
        client.show("locked", session -> session.createQuery("from Book where title = :title", Entities.Book.class)
                .setParameter("title", text("novel 4")).setLockMode(LockModeType.PESSIMISTIC_WRITE).getResultList());
        client.show("lock of one", session -> session.find(Entities.Author.class, key(2), LockModeType.PESSIMISTIC_READ));
    }

    private static void compute(Shown client) {
        client.asked("aggregates", "select count(*), sum(sold), avg(price), min(published), max(title), count(distinct author) from Book");
        client.asked("groups", "select author.id, count(*), sum(price), max(sold) from Book group by author.id order by author.id");
        client.asked("having", "select a.name, sum(b.price) from Author a join a.books b group by a.name having sum(b.price) > 80 order by a.name");
        client.asked("by year", "select extract(year from published) as y, count(*) from Book group by y order by y");
        client.asked("by month", "select truncate(published, month) as m, count(*) from Book group by m order by m");
        client.asked("listed", "select author.id, listagg(title, ', ') within group (order by id) from Book where sold < 6000 group by author.id order by author.id");
        client.asked("case", "select id, case when price > 10 then 'dear' when price is null then 'none' else 'cheap' end from Book order by id");
        client.asked("functions", "select upper(title), substring(title, 27, 5), length(title), locate('n', title), concat(title, '!', author.name), "
                + "coalesce(price, 0), nullif(sold, 2000), abs(sold - 5000), sold % 7, round(price, 0), replace(title, 'novel', 'n'), trim(title) "
                + "from Book where sold < 4000 order by id");
        client.asked("dates", "select born, day(born), born + 10 day, year(born), format(born as 'dd.MM.yyyy') from Author where born is not null order by born");
        client.asked("differences", "select id, (changed - instant('x')) by hour from Book".replace("instant('x')", "{ts '2024-02-28 00:00:00'}"));
        client.asked("windows", "select id, rank() over (partition by author.id order by price desc nulls last), sum(sold) over (order by id) from Book order by id");
        client.asked("with", "with dear as (select b.id as id, b.price as price from Book b where b.price > 10) select count(*), max(price) from dear d");
        client.show("union", session -> session.createQuery("select name as n from Author union select name as n from Tag", String.class)
                .getResultStream().sorted().toList());
        client.asked("from a query", "select d.n, d.s from (select b.author.id as n, sum(b.sold) as s from Book b group by b.author.id) d order by d.s");
        client.asked("lateral", "select a.name, l.title from Author a join lateral (select b.title as title from Book b where b.author = a order by b.sold desc limit 1) l order by a.name");
    }

    private static <T> Object chosen(Session session, Class<T> of, java.util.function.BiConsumer<HibernateCriteriaBuilder, org.hibernate.query.criteria.JpaCriteriaQuery<T>> by) {
        var builder = session.getCriteriaBuilder();
        var query = builder.createQuery(of);
        by.accept(builder, query);
        return session.createQuery(query).getResultList();
    }

    /** By criteria. */
    private static void select(Shown client) {
        client.show("criteria", session -> chosen(session, Entities.Book.class, (builder, query) -> {
            var book = query.from(Entities.Book.class);
            query.where(builder.like(builder.lower(book.get("title")), "%almanac%"), builder.gt(book.get("sold"), 3000L))
                    .orderBy(builder.desc(book.get("sold")));
        }));
        client.show("criteria of columns", session -> chosen(session, Object[].class, (builder, query) -> {
            var book = query.from(Entities.Book.class);
            var writer = book.join("author");
            query.multiselect(writer.get("name"), builder.sum(book.<BigDecimal>get("price")), builder.count(book))
                    .groupBy(writer.get("name")).orderBy(builder.asc(writer.get("name")));
        }));
        client.show("criteria of any", session -> chosen(session, Long.class, (builder, query) -> {
            var book = query.from(Entities.Book.class);
            query.select(book.get("id")).where(builder.or(builder.equal(book.get("title"), text("novel 1")),
                    builder.greaterThan(book.get("price"), new BigDecimal("20")), builder.isNull(book.get("stars"))))
                    .orderBy(builder.asc(book.get("id")));
        }));
        client.show("criteria with a query", session -> chosen(session, String.class, (builder, query) -> {
            var author = query.from(Entities.Author.class);
            var inner = query.subquery(Long.class);
            var book = inner.from(Entities.Book.class);
            inner.select(builder.count(book)).where(builder.equal(book.get("author"), author));
            query.select(author.get("name")).where(builder.gt(inner, 7L)).orderBy(builder.asc(author.get("name")));
        }));
    }

    private static void relate(Shown client) {
        client.show("fetched", session -> {
            var rows = new ArrayList<Object>();
            for (var author : session.createQuery("select a from Author a left join fetch a.books b left join fetch a.card order by a.name, b.id",
                    Entities.Author.class).getResultList()) {
                rows.add(Arrays.asList(author.name, author.card == null ? null : author.card.amount,
                        author.books.stream().map(book -> book.title).toList()));
            }
            return rows;
        });
        client.show("lazily", session -> {
            var rows = new ArrayList<Object>();
            for (var author : session.createQuery("from Author order by name", Entities.Author.class).getResultList()) {
                rows.add(Arrays.asList(author.books.size(), author.phones.toString(), author.card == null ? null : author.card.photo));
            }
            return rows;
        });
        client.show("by a graph", session -> {
            var graph = session.createEntityGraph(Entities.Book.class);
            graph.addAttributeNodes("author", "tags");
            return session.createQuery("from Book where sold < 6000 order by id", Entities.Book.class).setHint("jakarta.persistence.fetchgraph", graph)
                    .getResultStream().map(book -> book.author.name + book.tags.stream().map(tag -> tag.name).sorted().toList()).toList();
        });
    }

    private static void change(Shown client) {
        client.done("dirty", session -> {
            var author = session.find(Entities.Author.class, key(0));
            author.name = text("renamed");
            author.phones.put(text("home"), text("moved"));
            author.phones.remove(text("work"));
            author.card.amount += 1;
        });
        client.show("old version", session -> {
            var book = session.createQuery("from Book where title = :title", Entities.Book.class).setParameter("title", text("novel 8")).getSingleResult();
            session.detach(book);
            session.createMutationQuery("update versioned Book set stars = 5 where id = :id").setParameter("id", book.id).executeUpdate();
            book.title = text("lost");
            try {
                session.merge(book);
                session.flush();
                return "written";
            } catch (OptimisticLockException error) {
                return "refused";
            }
        });
        client.changed("dearer", "update Book set price = price * 2 + 0.25 where title like '%Almanac%'");
        client.changed("by a query", "update Book b set b.title = b.title || '!' where b.author.id in (select a.id from Author a where a.name like '%bbb')");
        client.changed("with functions", "update Book set title = concat(upper(title), '.'), stars = coalesce(stars, 0) + 1 where year(published) = 2003");
        client.changed("inserted from", "insert into Tag (name, note) select 'canary-59d2-in-plain-text c' || cast(id as String), title from Book where sold > 21000");
        client.changed("upserted", "insert into Tag (name, note) values (:name, 'x') on conflict (name) do update set note = excluded.note", "name", text("red"));
        client.changed("ignored", "insert into Tag (name, note) values (:name, 'y') on conflict (name) do nothing", "name", text("red"));
        // No other answer depends on these.
        for (var statement : List.of("update Payment set amount = amount + 1 where payer.name like '%bbb'",
                "delete from ByCard where holder like '%4'")) {
            client.show(statement.substring(0, 6) + " of joined tables", session -> {
                int changed = session.createMutationQuery(statement).executeUpdate();
                session.getTransaction().markRollbackOnly();
                return changed;
            });
        }
        client.show("undone", session -> {
            session.createMutationQuery("delete from Log where line like '%1%'").executeUpdate();
            session.getTransaction().markRollbackOnly();
            return session.createQuery("select count(*) from Log", Long.class).getSingleResult();
        });
        client.changed("deleted", "delete from Log where line like '%1%' or at > :at", "at", Instant.parse("2024-02-28T12:00:20Z"));
        client.done("tags changed", session -> {
            var book = session.createQuery("from Book where title = :title", Entities.Book.class).setParameter("title", text("novel 9")).getSingleResult();
            book.tags.removeIf(tag -> tag.name.endsWith("red"));
            book.tags.add(session.find(Entities.Tag.class, text("green")));
        });
        client.done("removed", session -> session.remove(session.find(Entities.Author.class, key(3))));
        client.show("in batches", session -> {
            for (var book : session.createQuery("from Book where sold > 15000 order by id", Entities.Book.class).getResultList()) {
                book.price = (book.price == null ? BigDecimal.ONE : book.price).multiply(new BigDecimal("1.5")).setScale(2, RoundingMode.HALF_UP);
                book.author = session.getReference(Entities.Author.class, key(4));
            }
            return "";
        });
        client.asked("tags left", "select name, note from Tag order by name");
        client.asked("authors left", "from Author order by name");
        client.asked("books left", "from Book order by id");
        client.asked("tags of books", "select b.id, t.name from Book b join b.tags t order by b.id, t.name");
        client.asked("payments left", "from Payment order by id");
        client.asked("lines left", "select line from Log order by line");
        client.asked("cards left", "select number, amount, photo from Card order by number");
    }
}
