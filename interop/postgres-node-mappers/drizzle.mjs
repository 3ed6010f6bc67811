// Drizzle: its relations, which it asks for by lateral joins and JSON, and what programs ask of it.

import { and, asc, avg, count, desc, eq, gt, ilike, inArray, isNull, max, not, exists, relations, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { bigint, date, integer, numeric, pgTable, text, timestamp, varchar } from "drizzle-orm/pg-core";
import pg from "pg";
import { authors, books, canary, show } from "./data.mjs";

const author = pgTable("author", {
    id: integer().primaryKey(), name: text().notNull(), mail: varchar({ length: 80 }).unique(), born: date(),
});
const book = pgTable("book", {
    id: integer().primaryKey(), author_id: integer().references(() => author.id), title: text(),
    price: numeric({ precision: 8, scale: 2 }), sold: bigint({ mode: "number" }),
    published: timestamp({ withTimezone: true }),
});
const schema = {
    author, book,
    authorRelations: relations(author, ({ many }) => ({ books: many(book) })),
    bookRelations: relations(book, ({ one }) => ({
        author: one(author, { fields: [book.author_id], references: [author.id] }),
    })),
};
const pool = new pg.Pool({ connectionString: process.env.STRONGROOM_URL, max: 3 });
const db = drizzle(pool, { schema });

// As drizzle-kit writes it.
await db.execute(sql.raw(`CREATE TABLE "author" ("id" integer PRIMARY KEY NOT NULL, "name" text NOT NULL,
    "mail" varchar(80), "born" date, CONSTRAINT "author_mail_unique" UNIQUE("mail"))`));
await db.execute(sql.raw(`CREATE TABLE "book" ("id" integer PRIMARY KEY NOT NULL, "author_id" integer, "title" text,
    "price" numeric(8, 2), "sold" bigint, "published" timestamp with time zone)`));
await db.execute(sql.raw(`ALTER TABLE "book" ADD CONSTRAINT "book_author_id_author_id_fk" FOREIGN KEY ("author_id")
    REFERENCES "public"."author"("id") ON DELETE no action ON UPDATE no action`));

await show("inserted", () => db.insert(author).values(authors).returning({ id: author.id }));
await db.insert(book).values(books.map((one) => ({ ...one, sold: Number(one.sold) })));
await show("first", () => db.query.book.findFirst({ where: eq(book.id, 3) }));
await show("relations", () => db.query.author.findMany({
    with: { books: { columns: { id: true, title: true }, orderBy: [desc(book.id)], limit: 2 } }, orderBy: [asc(author.id)],
}));
await show("relation to one", () => db.query.book.findMany({
    with: { author: { columns: { name: true } } }, where: gt(book.price, "15"), orderBy: [asc(book.id)], limit: 3,
}));
await show("count", () => db.$count(book, ilike(book.title, "%NOVEL%")));
await show("grouped", () => db.select({ author: book.author_id, mean: avg(book.price), last: max(book.published),
    books: count() }).from(book).groupBy(book.author_id).orderBy(book.author_id));
await show("joined", () => db.select({ name: author.name, title: book.title }).from(author)
    .innerJoin(book, eq(book.author_id, author.id)).where(and(eq(author.mail, `${canary}2@example.com`), gt(book.sold, 9000)))
    .orderBy(book.id));
await show("left join", () => db.select().from(author).leftJoin(book, eq(book.author_id, author.id))
    .where(isNull(book.id)));
await show("exists", () => db.select({ id: author.id }).from(author).where(not(exists(db.select().from(book)
    .where(eq(book.author_id, author.id))))));
await show("by year", () => db.select({ year: sql`extract(year from ${book.published})`, books: count() }).from(book)
    .groupBy(sql`1`).orderBy(sql`1`));
await show("in", () => db.select({ id: book.id }).from(book).where(inArray(book.id, [2, 4, 99])).orderBy(book.id));
await show("keyset page", () => db.select({ id: book.id }).from(book)
    .where(sql`(${book.sold}, ${book.id}) > (${5000}, ${6})`).orderBy(book.sold, book.id).limit(4));
await show("with", () => {
    const dear = db.$with("dear").as(db.select({ id: book.id, price: book.price }).from(book).where(gt(book.price, "10")));
    return db.with(dear).select({ n: count(), most: max(dear.price) }).from(dear);
});
await show("distinct", () => db.selectDistinct({ author: book.author_id }).from(book).orderBy(book.author_id));
await show("upsert", () => db.insert(author).values({ ...authors[0], name: `${canary} y` })
    .onConflictDoUpdate({ target: author.id, set: { name: sql`excluded.name` } }).returning());
await show("twice", () => db.insert(author).values(authors[1]));
await show("no author", () => db.insert(book).values({ id: 99, author_id: 99 }));
await show("updated", () => db.update(book).set({ price: sql`${book.price} + 1` }).where(ilike(book.title, "%almanac%"))
    .returning({ id: book.id, price: book.price }).then((rows) => rows.sort((one, other) => one.id - other.id)));
await show("copied", () => db.insert(book).select(db.select({ id: sql`${book.id} + 100`.as("id"), author_id: book.author_id,
    title: sql`upper(${book.title})`.as("title"), price: book.price, sold: book.sold, published: book.published })
    .from(book).where(gt(book.id, 20))).returning({ id: book.id }).then((rows) => rows.map(({ id }) => id).sort()));
await show("transaction", () => db.transaction(async (transaction) => {
    await transaction.delete(book).where(gt(book.sold, 3000));
    transaction.rollback();
}).catch((error) => error.message));
await show("deleted", () => db.delete(book).where(gt(book.price, "20")).returning({ id: book.id })
    .then((rows) => rows.map(({ id }) => id).sort()));
await show("left", () => db.select().from(book).orderBy(book.id));
await pool.end();
