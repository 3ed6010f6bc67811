// What both mappers write, and how they show what they get.

export const canary = "canary-59d2-in-plain-text";

export const authors = [1, 2, 3, 4].map((id) => ({
    id, name: `${canary} ${"abcd"[id - 1]}`, mail: id === 4 ? null : `${canary}${id}@example.com`, born: `19${id}0-0${id}-15`,
}));

export const books = Array.from({ length: 24 }, (_, at) => ({
    id: at + 1, author_id: at % 3 + 1, title: `${canary} ${at % 5 === 0 ? "Almanac" : "novel"} ${at}`,
    price: at % 7 === 0 ? null : `${at}.50`, sold: String(at * 1000),
    published: new Date(Date.UTC(2000 + at % 4, at % 12, 3, at)),
}));

/** Writes what an action gives, or its code. */
export async function show(what, action) {
    let answer;
    try {
        answer = await action();
    } catch (error) {
        answer = (error.cause ?? error).code ?? `${error}`;
    }
    console.log(`${what}\t${JSON.stringify(answer)}`);
}
