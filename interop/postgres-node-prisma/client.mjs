// Prisma: relations, nested writes, filters, aggregates, groups, cursors, transactions. It writes a line for each
// answer.

import { PrismaPg } from "@prisma/adapter-pg";
import generated from "./generated/client.js";

const { Prisma, PrismaClient } = generated;
const canary = "canary-59d2-in-plain-text";
const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.STRONGROOM_URL, max: 3 }) });

/** Writes what an action gives, or its code. */
async function show(what, action) {
    let answer;
    try {
        answer = await action();
    } catch (error) {
        console.error(`${what}: ${error.message.split("\n").at(-1)}`, JSON.stringify(error.meta?.driverAdapterError ?? null));
        // The code of Prisma; of an error that it does not know, that of the server.
        answer = { code: error.code ?? error.name, server: error.meta?.driverAdapterError?.cause?.originalCode };
    }
    const line = JSON.stringify(answer, (_, value) => typeof value === "bigint" ? `${value}n` : value);
    console.log(`${what}\t${line}`);
}

const text = (of) => `${canary} ${of}`;
const key = (number) => `59d20000-0000-4000-8000-${String(number).padStart(12, "0")}`;
const changed = new Date("2024-02-28T12:00:00Z");
const authors = [0, 1, 2, 3, 4].map((number) => ({
    id: key(number), name: text("abcde"[number].repeat(3)), mail: number === 4 ? null : `${canary}${number}@example.com`,
    born: number === 4 ? null : new Date(Date.UTC(1950 + number * 7, number, 3)), active: number % 2 === 0, changed,
}));
const books = Array.from({ length: 24 }, (_, at) => ({
    authorId: key(at % 3), title: text(at % 5 === 0 ? `Almanac 100% of ${at}` : `novel ${at}`),
    price: at % 7 === 0 ? null : `${at}.50`, sold: BigInt(at * 1000), labels: at % 4 === 0 ? [] : [text("l"), `n${at}`],
    facts: at % 6 === 0 ? Prisma.DbNull : { pages: at * 10, of: { kind: at % 2 ? text("odd") : "even" }, list: [at, "x"] },
    published: new Date(Date.UTC(2000 + at % 4, at % 12, 3, at)), kind: ["NOVEL", "ALMANAC", "ESSAY"][at % 3],
}));
const brief = { id: true, title: true };
const ids = { id: true };
const by = { id: "asc" };

// Written.
await show("created many", () => db.author.createMany({ data: authors }));
await show("created and returned", () => db.book.createManyAndReturn({ data: books, select: brief }));
await show("nested", () => db.book.create({
    data: {
        title: text("with all"), author: { create: { id: key(9), name: text("new author"), changed, card: {
            create: { number: text("card 9"), limit: 12.5, photo: Buffer.from([0, 255, 9]) } } } },
        tags: { create: [{ name: text("red") }, { name: text("blue"), note: text("note") }] },
        reviews: { createMany: { data: [{ reader: text("ann"), stars: 4, text: text("good") }, { reader: text("bob"), stars: 2 }] } },
    },
    include: { author: { include: { card: true } }, tags: { orderBy: { name: "asc" } }, reviews: { orderBy: { reader: "asc" } } },
}));
await show("connected", () => db.book.update({
    where: { id: 3 }, data: { tags: { connect: [{ name: text("red") }], connectOrCreate: [
        { where: { name: text("green") }, create: { name: text("green") } }] } },
    include: { tags: { orderBy: { name: "asc" } } },
}));
await show("following", () => db.author.update({
    where: { id: key(0) }, data: { changed, following: { connect: [{ id: key(1) }, { id: key(2) }] } },
    select: { following: { select: { name: true }, orderBy: { name: "desc" } } },
}));
await show("mail twice", () => db.author.create({ data: { id: key(10), name: text("x"), mail: authors[1].mail } }));
await show("no author", () => db.book.create({ data: { title: text("x"), authorId: key(77) } }));
await show("too long", () => db.tag.create({ data: { name: text("x".repeat(90)) } }));
await show("duplicates skipped", () => db.tag.createMany({ skipDuplicates: true, data: [
    { name: text("red") }, { name: text("new") }] }));
await show("upserted, new", () => db.author.upsert({ where: { mail: `${canary}11@example.com` }, update: { name: text("old") },
    create: { id: key(11), name: text("upserted"), mail: `${canary}11@example.com`, changed } }));
await show("upserted, old", () => db.author.upsert({ where: { mail: `${canary}11@example.com` },
    update: { name: text("changed"), changed }, create: { id: key(12), name: text("again"), mail: `${canary}11@example.com` } }));
await show("upserted by keys", () => db.review.upsert({ where: { bookId_reader: { bookId: 25, reader: text("ann") } },
    update: { stars: { increment: 1 } }, create: { bookId: 25, reader: text("ann"), stars: 1 } }));
await show("default of a time", () => db.author.create({ data: { id: key(13), name: text("now") } })
    .then(({ changed }) => Math.abs(Date.now() - changed) < 600_000));

// Read.
await show("unique", () => db.author.findUnique({ where: { mail: `${canary}1@example.com` }, omit: { changed: true } }));
await show("none", () => db.author.findUnique({ where: { id: key(99) } }));
await show("or throw", () => db.author.findFirstOrThrow({ where: { name: "nobody" } }));
await show("whole book", () => db.book.findUnique({ where: { id: 4 } }));
const filters = {
    "contains": { title: { contains: "Almanac" } },
    "contains a sign": { title: { contains: "100% of" } },
    "starts": { title: { startsWith: text("novel 1") } },
    "ends": { title: { endsWith: "7" } },
    "insensitive": { title: { contains: "ALMANAC", mode: "insensitive" } },
    "equal, insensitive": { title: { equals: text("NOVEL 4"), mode: "insensitive" } },
    "in, insensitive": { title: { in: [text("NOVEL 4"), text("x")], mode: "insensitive" } },
    "not": { title: { not: { contains: "novel" } } },
    "in": { id: { in: [2, 4, 99] }, title: { in: [text("novel 1"), text("novel 3")] } },
    "not in": { title: { notIn: [text("novel 1"), text("novel 3")] }, sold: { lt: 6000 } },
    "bounds": { price: { gt: 3, lte: "12.5" }, published: { gte: new Date("2001-01-01") } },
    "null": { price: null },
    "or": { OR: [{ sold: { lt: 2000 } }, { price: { gte: 20 } }], NOT: { title: { endsWith: "3" } } },
    "relation": { author: { name: text("bbb") }, sold: { gt: 9000 } },
    "relation, insensitive": { author: { is: { mail: { startsWith: canary.toUpperCase(), mode: "insensitive" } } }, sold: { gt: 20000 } },
    "some": { tags: { some: { name: text("red") } } },
    "every": { reviews: { every: { stars: { gt: 3 } } }, sold: { lt: 3000 } },
    "no tag": { tags: { none: {} }, sold: { lt: 3000 } },
    "column beside column": { version: { lt: db.book.fields.id }, sold: { lt: 3000 } },
    "kind": { kind: "ESSAY" },
    "kinds": { kind: { in: ["NOVEL", "ESSAY"] }, sold: { gt: 18000 } },
    "not of a kind": { NOT: { kind: "NOVEL" }, sold: { lt: 5000 } },
    "JSON path": { facts: { path: ["of", "kind"], equals: text("odd") } },
    "JSON number": { facts: { path: ["pages"], gt: 200 } },
    "JSON text": { facts: { path: ["of", "kind"], string_contains: "eve" }, sold: { lt: 9000 } },
    "JSON array": { facts: { path: ["list"], array_contains: ["x"] }, sold: { gt: 21000 } },
    "no JSON": { facts: { equals: Prisma.DbNull } },
    "has": { labels: { has: text("l") }, sold: { lt: 4000 } },
    "has every": { labels: { hasEvery: [text("l"), "n5"] } },
    "empty list": { labels: { isEmpty: true } },
};
for (const [what, where] of Object.entries(filters)) {
    await show(what, () => db.book.findMany({ where, orderBy: by, select: ids }).then((rows) => rows.map(({ id }) => id)));
}
await show("ordered", () => db.book.findMany({ orderBy: [{ price: { sort: "desc", nulls: "last" } }, { title: "asc" }],
    select: ids, take: 8, skip: 2 }));
await show("ordered by kind", () => db.book.findMany({ orderBy: [{ kind: "desc" }, by], select: { id: true, kind: true } }));
await show("ordered by a relation", () => db.book.findMany({ orderBy: [{ author: { name: "desc" } }, by], select: ids, take: 5 }));
await show("ordered by a count", () => db.author.findMany({ orderBy: [{ books: { _count: "desc" } }, { name: "asc" }],
    select: { name: true, _count: { select: { books: true } } } }));
await show("cursor", () => db.book.findMany({ cursor: { id: 7 }, skip: 1, take: 4, orderBy: by, select: brief }));
await show("cursor by time", () => db.book.findMany({ cursor: { id: 7 }, take: 4, orderBy: [{ published: "asc" }, by], select: ids }));
await show("cursor back", () => db.book.findMany({ cursor: { id: 7 }, take: -3, orderBy: [{ title: "asc" }], select: ids }));
await show("distinct", () => db.book.findMany({ distinct: ["authorId"], orderBy: [{ authorId: "asc" }, by],
    select: { id: true, authorId: true } }));
await show("included", () => db.author.findMany({
    include: { card: true, books: { where: { price: { gt: 15 } }, orderBy: { sold: "desc" }, take: 2, select: brief },
        followers: { select: { name: true } } },
    where: { name: { not: text("now") } }, omit: { changed: true }, orderBy: { name: "asc" } }));
await show("filtered counts", () => db.author.findMany({ orderBy: by, select: {
    id: true, _count: { select: { books: { where: { title: { contains: "novel" } } } } } } }));

// Computed.
await show("counted", () => db.book.count({ where: { title: { contains: "novel" } } }));
await show("counted columns", () => db.book.count({ select: { _all: true, price: true, published: true } }));
await show("aggregates", () => db.book.aggregate({ _count: true, _avg: { price: true }, _sum: { price: true, sold: true },
    _min: { published: true, title: true }, _max: { sold: true }, where: { sold: { gt: 2000 } } }));
await show("groups", () => db.book.groupBy({ by: ["authorId"], _count: { _all: true }, _sum: { price: true },
    _max: { published: true }, orderBy: { authorId: "asc" } }));
await show("groups of a kind", () => db.book.groupBy({ by: ["kind"], _count: true, _min: { kind: true, sold: true },
    orderBy: { kind: "asc" } }));
await show("raw kind", () => db.$queryRaw`SELECT kind, array_agg(id ORDER BY id) AS ids FROM "Book"
    WHERE kind > ${"NOVEL"}::"Kind" GROUP BY kind ORDER BY kind`);
await show("having", () => db.book.groupBy({ by: ["authorId"], having: { price: { _avg: { gt: 12 } } }, _avg: { sold: true },
    orderBy: { _avg: { sold: "desc" } } }));
await show("raw", () => db.$queryRaw`SELECT date_trunc('year', published)::date::text AS year, count(*)::int AS books
    FROM "Book" WHERE title LIKE ${"%novel%"} GROUP BY 1 ORDER BY 1`);
await show("raw join", () => db.$queryRaw`SELECT a.name, b.title FROM "Author" a JOIN "Book" b ON b."authorId" = a.id
    WHERE a.id = ${key(1)}::uuid AND b.sold > ${15000} ORDER BY b.id`);
await show("raw write", () => db.$executeRaw`UPDATE "Book" SET version = version + 1 WHERE title ILIKE ${"%almanac%"}`);

// Changed.
await show("incremented", () => db.book.update({ where: { id: 5 }, data: { sold: { increment: 5 }, price: { multiply: 2 } } }));
await show("updated many", () => db.book.updateMany({ where: { title: { contains: "Almanac" } }, data: { price: { increment: 1 } } }));
await show("updated and returned", () => db.book.updateManyAndReturn({ where: { sold: { gte: 22000 } },
    data: { facts: { changed: text("yes") } }, select: { id: true, facts: true } }));
await show("kind changed", () => db.book.updateManyAndReturn({ where: { kind: "ALMANAC", sold: { lt: 8000 } },
    data: { kind: "ESSAY" }, select: { id: true, kind: true } }));
await show("list", () => db.book.update({ where: { id: 2 }, data: { labels: { push: text("more") } }, select: { labels: true } }));
await show("nested update", () => db.author.update({ where: { id: key(9) }, select: { name: true, card: { select: { limit: true } } },
    data: { name: text("nine"), changed, card: { update: { limit: { divide: 4 } } }, books: { updateMany: { where: { version: 0 }, data: { version: 7 } } } } }));
await show("disconnected", () => db.book.update({ where: { id: 25 }, data: { tags: { set: [{ name: text("new") }] }, author: { disconnect: true } },
    include: { tags: true } }));
await show("optimistic", async () => [
    await db.book.updateMany({ where: { id: 8, version: 0 }, data: { version: { increment: 1 }, title: text("one") } }),
    await db.book.updateMany({ where: { id: 8, version: 0 }, data: { version: { increment: 1 }, title: text("other") } }),
]);
await show("not there", () => db.book.update({ where: { id: 999 }, data: { title: "x" } }));
await show("transaction of many", () => db.$transaction([
    db.book.count(), db.tag.create({ data: { name: text("in") } }), db.tag.findMany({ orderBy: { name: "asc" } })]));
await show("undone", async () => {
    await db.$transaction(async (transaction) => {
        await transaction.book.deleteMany({ where: { sold: { gt: 3000 } } });
        throw new Error("undone");
    }).catch(() => {});
    return db.book.count();
});
await show("serializable", () => db.$transaction(async (transaction) => {
    const [{ sold }] = await transaction.book.findMany({ where: { title: text("novel 1") } });
    return transaction.book.updateMany({ where: { title: text("novel 1") }, data: { sold: sold + 1n } });
}, { isolationLevel: Prisma.TransactionIsolationLevel.Serializable }));
await show("deleted", () => db.book.delete({ where: { id: 25 }, select: { title: true } }));
await show("deleted many", () => db.book.deleteMany({ where: { price: { gt: 20 }, title: { contains: "novel" } } }));
await show("cascade", () => db.author.delete({ where: { id: key(9) }, select: { name: true } }));
await show("cards left", () => db.card.findMany());
await show("books left", () => db.book.findMany({ orderBy: by, include: { tags: true, author: { select: { name: true } } } }));
await db.$disconnect();
