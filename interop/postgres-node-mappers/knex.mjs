// Knex: a migration of its own, and what programs ask of it.

import knex from "knex";
import { authors, books, canary, show } from "./data.mjs";

const db = knex({ client: "pg", connection: process.env.STRONGROOM_URL, pool: { min: 1, max: 3 } });

const migration = {
    getMigrations: async () => ["first"],
    getMigrationName: (name) => name,
    getMigration: async () => ({
        async up(db) {
            await db.schema.createTable("author", (table) => {
                table.integer("id").primary();
                table.text("name").notNullable();
                table.string("mail", 80).unique();
                table.date("born").index();
            });
            await db.schema.createTable("book", (table) => {
                table.integer("id").primary();
                table.integer("author_id").references("author.id").onDelete("CASCADE");
                table.text("title");
                table.decimal("price", 8, 2);
                table.bigInteger("sold");
                table.timestamp("published");
            });
        },
        async down() {},
    }),
};

await db.migrate.latest({ migrationSource: migration });
await show("inserted", () => db("author").insert(authors).returning("id"));
await db.batchInsert("book", books, 10);
await show("first", () => db("book").where({ id: 3 }).first());
await show("count", () => db("book").count());
await show("like", () => db("book").whereILike("title", "%almanac%").orderBy("id").pluck("id"));
await show("regular expression", () => db("book").whereRaw("title ~ ?", ["novel 1[0-9]$"]).orderBy("id").pluck("id"));
await show("joined", () => db("author as a").join("book as b", "b.author_id", "a.id").where("a.name", `${canary} b`)
    .orderBy("b.price", "desc", "last").select("a.name", "b.title", "b.price").limit(4));
await show("left join", () => db("author").leftJoin("book", "book.author_id", "author.id").groupBy("author.id")
    .select("author.id").sum("book.price as total").max("book.published as last").orderBy("author.id"));
await show("having", () => db("book").select("author_id").avg("sold as mean").groupBy("author_id")
    .havingRaw("sum(price) > ?", [80]).orderBy("author_id"));
await show("by month", () => db("book").select(db.raw("date_trunc('month', published) as month")).count("* as books")
    .groupBy(1).orderBy(1).limit(5));
await show("in a query", () => db("author").whereIn("id", db("book").select("author_id").where("price", ">", 20))
    .orderBy("id").pluck("name"));
await show("not exists", () => db("author").whereNotExists(db("book").select(1).whereRaw("book.author_id = author.id"))
    .select("id", "mail"));
await show("with", () => db.with("dear", db("book").where("price", ">", 10)).from("dear").count("* as dear"));
await show("window", () => db("book").select("id").rank("place", (over) => over.partitionBy("author_id")
    .orderBy("price", "desc", "last")).orderBy("id").limit(6));
await show("union", () => db("book").select("title").where("id", 1).union(db("author").select("name").where("id", 1))
    .orderBy(1));
await show("page", () => db("book").orderBy([{ column: "published" }, { column: "id" }]).offset(5).limit(5).pluck("id"));
await show("distinct", () => db("book").distinctOn("author_id").orderBy("author_id").orderBy("sold", "desc")
    .select("author_id", "sold"));
await show("upsert", () => db("author").insert({ ...authors[0], name: `${canary} z` }).onConflict("id").merge()
    .returning("name"));
await show("twice", () => db("author").insert(authors[1]));
await show("ignored", () => db("author").insert(authors[1]).onConflict("id").ignore());
await show("increment", () => db("book").where("id", 4).increment("sold", 5).returning("sold"));
await show("updated", () => db("book").where("title", "like", "%Almanac%").update({ price: db.raw("price * 2") }));
await show("update from", () => db("book").whereIn("author_id", db("author").select("id").where("born", "<", "1915-01-01"))
    .update({ sold: 7 }));
await show("too long", () => db("author").where("id", 1).update({ mail: canary.repeat(9) }));
await show("transaction", async () => {
    await db.transaction(async (transaction) => {
        await transaction("book").where("sold", ">", 15000).del();
        throw new Error("undone");
    }).catch(() => {});
    return db("book").count();
});
await show("locked", () => db.transaction((transaction) => transaction("book").where("id", 2).forUpdate().select("title")));
await show("deleted", () => db("book").where("published", "<", db.raw("'2001-01-01'::timestamptz")).del());
await show("cascade", () => db("author").where("id", 2).del());
await show("left", () => db("book").orderBy("id").select());
await db.destroy();
