"""One row by its key, asked by asyncpg: of the server itself, through the proxy by TCP and by its socket, and by
the library in this process. Each step asks every way once, in an order that turns."""

import asyncio
import os
import statistics
import sys
import time

import asyncpg
from strongroom import columns

ROWS = 10_000
STEPS, WARM_STEPS = 10_000, 1_000
ROUNDS = 3


async def fill(connection):
    for table in ("account", "sealed_account"):
        await connection.execute(
            f"CREATE TABLE {table} (id integer PRIMARY KEY, balance integer, holder varchar(60))")
        rows = [(number, number * 7, f"holder of account {number}") for number in range(ROWS)]
        await connection.executemany(f"INSERT INTO {table} VALUES ($1, $2, $3)", rows)
        await connection.execute(f"VACUUM ANALYZE {table}")


def quantile(values, share):
    return sorted(values)[int(len(values) * share)]


async def measure(places, number):
    """Each way with a connection of its own, made anew for each round."""
    ways = []
    for name, table, place in places:
        connection = await asyncpg.connect(**place, user="postgres", database="postgres")
        select = await connection.prepare(f"SELECT balance, holder FROM {table} WHERE id = $1")
        ways.append((f"{name:20} {table:15}", connection, select, []))
    for step in range(WARM_STEPS + STEPS):
        key = (step * 7919) % ROWS
        for index in range(len(ways)):
            _, _, select, latencies = ways[(step + index) % len(ways)]
            start = time.perf_counter_ns()
            row = await select.fetchrow(key)
            latency = time.perf_counter_ns() - start
            if row[0] != key * 7:
                raise AssertionError(f"{key}: {row}")
            if step >= WARM_STEPS:
                latencies.append(latency / 1000)
    direct = ways[0][3]
    for name, connection, _, latencies in ways:
        added = statistics.median(own - base for own, base in zip(latencies, direct, strict=True))
        print(f"{number}      {name} {quantile(latencies, 0.5):5.0f} {quantile(latencies, 0.99):7.0f} {added:+12.1f}",
              flush=True)
        await connection.close()


async def main(server_port, proxy_port, proxy_socket):
    direct = {"host": "127.0.0.1", "port": server_port}
    tcp = {"host": "127.0.0.1", "port": proxy_port}
    unix = {"host": proxy_socket, "port": proxy_port}
    with columns.open(os.environ["STRONGROOM_CONFIGURATION"]) as client:
        library = {"host": client.listen(), "port": 5432}
        connection = await asyncpg.connect(**library, user="postgres", database="postgres")
        await fill(connection)
        await connection.close()
        places = [("direct", "account", direct)]
        for table in ("account", "sealed_account"):
            places += [("proxy, TCP", table, tcp), ("proxy, Unix socket", table, unix),
                       ("library", table, library)]
        print(f"{STEPS} steps, one row by its key; microseconds. All ways reach the server by TCP.")
        print("round  way                  table             p50     p99   median added to direct")
        for number in range(1, ROUNDS + 1):
            await measure(places, number)


asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
