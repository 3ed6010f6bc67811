// Has Prisma migrate with the engine that its package has, over the adapter of `pg`.

import { PrismaPg } from "@prisma/adapter-pg";
import { defineConfig } from "prisma/config";

// The engine reads the catalogues, but the adapter does not know the types "char" and name.
const asText = { 18: 25, 19: 25, 1002: 1009, 1003: 1009 };

// The engine leaves connections and a timer of a minute behind, which would keep the program running.
const set = globalThis.setTimeout;
globalThis.setTimeout = (action, after, ...values) => {
    const timer = set(action, after, ...values);
    return after < 60_000 ? timer : timer.unref();
};

class OfCatalogues extends PrismaPg {
    async connect() {
        const adapter = await super.connect();
        const perform = adapter.performIO.bind(adapter);
        adapter.performIO = async (query) => {
            const answer = await perform(query);
            for (const field of answer.fields) {
                field.dataTypeID = asText[field.dataTypeID] ?? field.dataTypeID;
            }
            return answer;
        };
        return adapter;
    }
}

export default defineConfig({
    experimental: { adapter: true },
    engine: "js",
    adapter: async () => new OfCatalogues({ connectionString: process.env.STRONGROOM_URL, allowExitOnIdle: true }),
    schema: "schema.prisma",
    migrations: { path: "migrations" },
});
