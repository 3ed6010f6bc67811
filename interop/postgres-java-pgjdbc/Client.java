// pgjdbc writes and reads protected columns as it does any others.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.postgresql.PGConnection;
import org.postgresql.copy.CopyManager;

public final class Client {
    private static final String CANARY = "canary-59d2-in-plain-text";
    private static final String COLUMNS = "id, born, salary, score, photo, active, name";
    private static final String INSERT =
            "INSERT INTO person (" + COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?)";

    private Client() {}

    private static Connection connect(String more) throws SQLException {
        String url = System.getProperty("strongroom.url", System.getenv("STRONGROOM_JDBC_URL"));
        return DriverManager.getConnection(url + more);
    }

    private static void check(String what, Object wanted, Object got) {
        if (!wanted.equals(got)) {
            throw new AssertionError(what + ": expected " + wanted + ", got " + got);
        }
    }

    private static void login(String more) {
        try (Connection connection = connect(more);
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(
                        "SELECT current_user, ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")) {
            found.next();
            System.out.println(found.getString(1) + " " + found.getString(2));
        } catch (SQLException error) {
            System.out.println(error.getSQLState() + " " + error.getMessage());
        }
    }

    private static Object[] parse(String line) {
        String[] words = line.split(" ", 7);
        Object[] values = new Object[7];
        values[0] = Integer.valueOf(words[0]);
        values[1] = words[1].equals("NULL") ? null : LocalDate.parse(words[1]);
        values[2] = words[2].equals("NULL") ? null : new BigDecimal(words[2]);
        values[3] = words[3].equals("NULL") ? null : Long.valueOf(words[3]);
        values[4] = words[4].equals("NULL") ? null : HexFormat.of().parseHex(words[4]);
        values[5] = words[5].equals("NULL") ? null : (Object) words[5].equals("t");
        values[6] = words[6];
        return values;
    }

    private static void bind(PreparedStatement statement, Object... values) throws SQLException {
        int[] types = {Types.INTEGER, Types.DATE, Types.NUMERIC, Types.BIGINT, Types.BINARY, Types.BOOLEAN,
            Types.VARCHAR};
        for (int index = 0; index < values.length; index++) {
            if (values[index] == null) {
                statement.setNull(index + 1, types[index]);
            } else {
                statement.setObject(index + 1, values[index]);
            }
        }
    }

    private static void write() throws Exception {
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (Connection connection = connect("&reWriteBatchedInserts=true");
                PreparedStatement statement = connection.prepareStatement(INSERT)) {
            connection.setAutoCommit(false);
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                bind(statement, parse(line));
                statement.addBatch();
            }
            statement.executeBatch();
            connection.commit();
        }
    }

    private static void read() throws SQLException {
        TreeMap<Integer, String> rows = new TreeMap<>();
        try (Connection connection = connect("");
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT " + COLUMNS + " FROM person")) {
            while (found.next()) {
                byte[] photo = found.getBytes(5);
                Object active = found.getObject(6);
                rows.put(found.getInt(1), String.join(" ", found.getString(1),
                        String.valueOf(found.getObject(2, LocalDate.class)).replace("null", "NULL"),
                        found.getBigDecimal(3) == null ? "NULL" : found.getBigDecimal(3).toPlainString(),
                        found.getObject(4) == null ? "NULL" : found.getObject(4).toString(),
                        photo == null ? "NULL" : HexFormat.of().formatHex(photo),
                        active == null ? "NULL" : active.equals(true) ? "t" : "f",
                        found.getString(7)));
            }
        }
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        rows.values().forEach(out::println);
    }

    private static List<Integer> ids(PreparedStatement statement) throws SQLException {
        List<Integer> ids = new ArrayList<>();
        try (ResultSet found = statement.executeQuery()) {
            while (found.next()) {
                ids.add(found.getInt(1));
            }
        }
        return ids;
    }

    private static String state(Connection connection, Object... values) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
            bind(statement, values);
            statement.executeUpdate();
            return "none";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    private static void metadata(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT " + COLUMNS + " FROM person")) {
            ResultSetMetaData columns = found.getMetaData();
            check("type of id", Types.INTEGER, columns.getColumnType(1));
            check("type of born", Types.DATE, columns.getColumnType(2));
            check("type of salary", Types.NUMERIC, columns.getColumnType(3));
            check("scale of salary", 2, columns.getScale(3));
            check("type of photo", Types.BINARY, columns.getColumnType(5));
            check("size of name", 40, columns.getPrecision(7));
        }
        described(connection.getMetaData());
    }

    private static void described(DatabaseMetaData metadata) throws SQLException {
        List<String> described = new ArrayList<>();
        try (ResultSet found = metadata.getColumns(null, "public", "person", null)) {
            while (found.next()) {
                described.add(String.join(" ", found.getString("COLUMN_NAME"), found.getString("TYPE_NAME"),
                        found.getString("DATA_TYPE"), found.getString("COLUMN_SIZE"),
                        found.getString("DECIMAL_DIGITS"), found.getString("IS_NULLABLE")));
            }
        }
        check("columns", List.of("id int4 " + Types.INTEGER + " 10 0 NO", "name varchar " + Types.VARCHAR + " 40 0 NO",
                "born date " + Types.DATE + " 13 0 YES", "salary numeric " + Types.NUMERIC + " 12 2 YES",
                "score int8 " + Types.BIGINT + " 19 0 YES", "photo bytea " + Types.BINARY + " 2147483647 0 YES",
                "active bool " + Types.BIT + " 1 0 YES"), described);
        try (ResultSet found = metadata.getPrimaryKeys(null, "public", "visit")) {
            check("key", List.of("person_id", "number"), all(found, "COLUMN_NAME"));
        }
        try (ResultSet found = metadata.getImportedKeys(null, "public", "visit")) {
            check("foreign key", List.of("id"), all(found, "PKCOLUMN_NAME"));
        }
        try (ResultSet found = metadata.getIndexInfo(null, "public", "person", true, false)) {
            check("indexes", List.of("id"), all(found, "COLUMN_NAME"));
        }
        try (ResultSet found = metadata.getTables(null, "public", "%", new String[] {"TABLE"})) {
            check("tables", List.of("person", "visit"), all(found, "TABLE_NAME"));
        }
        try (ResultSet found = metadata.getBestRowIdentifier(null, "public", "person",
                DatabaseMetaData.bestRowSession, false)) {
            check("row identifier", true, found.next());
            check("row identifier", Types.INTEGER, found.getInt("DATA_TYPE"));
        }
    }

    private static List<String> all(ResultSet found, String column) throws SQLException {
        List<String> values = new ArrayList<>();
        while (found.next()) {
            values.add(found.getString(column));
        }
        return values;
    }

    private static void searched(Connection connection) throws SQLException {
        try (PreparedStatement byName = connection.prepareStatement("SELECT id FROM person WHERE name = ?")) {
            // From the fifth time on it is prepared in the server.
            for (int round = 0; round < 10; round++) {
                byName.setString(1, CANARY + " ann");
                check("by name", List.of(1), ids(byName));
            }
        }
        try (PreparedStatement byRange = connection.prepareStatement(
                "SELECT id FROM person WHERE born BETWEEN ? AND ? ORDER BY born DESC")) {
            byRange.setObject(1, LocalDate.of(1980, 1, 1));
            byRange.setObject(2, LocalDate.of(2010, 1, 1));
            check("by range", List.of(2, 1), ids(byRange));
        }
        // By parts, from a portal.
        connection.setAutoCommit(false);
        try (PreparedStatement all = connection.prepareStatement("SELECT id FROM person")) {
            all.setFetchSize(2);
            check("by parts", 3, ids(all).size());
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    private static void changed(Connection connection) throws SQLException {
        try (PreparedStatement visit = connection.prepareStatement("INSERT INTO visit VALUES (?, ?, ?)")) {
            for (int number = 0; number < 100; number++) {
                visit.setInt(1, 1);
                visit.setInt(2, number);
                visit.setString(3, CANARY + " " + number);
                visit.addBatch();
            }
            check("batch", 100, visit.executeBatch().length);
        }
        try (PreparedStatement change = connection.prepareStatement(
                "UPDATE visit SET note = ? WHERE person_id = ? AND number = ?")) {
            for (int number = 0; number < 10; number++) {
                change.setString(1, CANARY + " again");
                change.setInt(2, 1);
                change.setInt(3, number);
                change.addBatch();
            }
            for (int count : change.executeBatch()) {
                check("batch of changes", 1, count);
            }
        }
        try (Statement statement = connection.createStatement()) {
            check("deleted", 100, statement.executeUpdate("DELETE FROM visit WHERE person_id = 1"));
        }
    }

    private static void refused(Connection connection) throws SQLException {
        check("key twice", "23505", state(connection, 1, null, null, null, null, null, CANARY));
        check("NULL", "23502", state(connection, 9, null, null, null, null, null, null));
        check("too long", "22001", state(connection, 9, null, null, null, null, null, CANARY + CANARY));
        check("too large", "22003",
                state(connection, 9, null, new BigDecimal("1e11"), null, null, null, CANARY));
    }

    /** An error inside of a savepoint: what was before it stays, what was behind it is gone. */
    private static void saved(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE person SET name = '" + CANARY + " kept' WHERE id = 2");
            Savepoint savepoint = connection.setSavepoint("Inner");
            statement.executeUpdate("UPDATE person SET name = '" + CANARY + " lost' WHERE id = 3");
            check("key twice", "23505", state(connection, 1, null, null, null, null, null, CANARY));
            connection.rollback(savepoint);
            TreeMap<Integer, String> names = new TreeMap<>();
            try (ResultSet found = statement.executeQuery("SELECT id, name FROM person WHERE id IN (2, 3)")) {
                while (found.next()) {
                    names.put(found.getInt(1), found.getString(2));
                }
            }
            check("savepoint", Map.of(2, CANARY + " kept", 3, CANARY + " o'hara \\"), names);
        }
        connection.rollback();
        connection.setAutoCommit(true);
    }

    private static void copied(Connection connection) throws SQLException, IOException {
        List<String> rows = new ArrayList<>();
        for (int number = 100; number < 200; number++) {
            rows.add("2\t" + number + "\t" + (number % 10 == 0 ? "\\N" : CANARY + " ø " + number));
        }
        CopyManager copier = connection.unwrap(PGConnection.class).getCopyAPI();
        check("copied in", 100L, copier.copyIn("COPY visit FROM STDIN",
                new StringReader(String.join("\n", rows) + "\n")));
        StringWriter out = new StringWriter();
        check("copied out", 100L, copier.copyOut("COPY visit TO STDOUT", out));
        check("copied", rows, out.toString().lines().sorted().toList());
        String csv = "3,1,\"" + CANARY + ", \"\"twice\"\"\"\n";
        check("copied in", 1L, copier.copyIn("COPY visit FROM STDIN (FORMAT csv)", new StringReader(csv)));
        out = new StringWriter();
        copier.copyOut("COPY (SELECT * FROM visit WHERE person_id = 3) TO STDOUT (FORMAT csv)", out);
        check("copied as CSV", csv, out.toString());
    }

    /** From a portal, by parts; other statements run between them. What was copied is there. */
    private static void fetched(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        try (PreparedStatement some = connection.prepareStatement(
                        "SELECT number, note FROM visit WHERE person_id = ? ORDER BY number");
                PreparedStatement byName = connection.prepareStatement("SELECT id FROM person WHERE name = ?")) {
            byName.setString(1, CANARY + " ann");
            some.setFetchSize(7);
            some.setInt(1, 2);
            int number = 100;
            try (ResultSet found = some.executeQuery()) {
                while (found.next()) {
                    check("number", number, found.getInt(1));
                    check("note", number % 10 == 0 ? "null" : CANARY + " ø " + number,
                            String.valueOf(found.getString(2)));
                    if (number % 10 == 3) {
                        check("between parts", List.of(1), ids(byName));
                    }
                    number++;
                }
            }
            check("rows by parts", 200, number);
        }
        connection.commit();
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement()) {
            check("deleted", 101, statement.executeUpdate("DELETE FROM visit WHERE person_id IN (2, 3)"));
        }
    }

    /** Ten times, while the table gets a column and loses it. */
    private static void prepared(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO visit (person_id, number, note) VALUES (3, ?, ?)");
                PreparedStatement find = connection.prepareStatement(
                        "SELECT note FROM visit WHERE person_id = 3 AND number = ?")) {
            for (int number = 0; number < 10; number++) {
                if (number == 6) {
                    statement.execute("ALTER TABLE visit ADD COLUMN room integer");
                } else if (number == 8) {
                    statement.execute("ALTER TABLE visit DROP COLUMN room");
                }
                insert.setInt(1, number);
                insert.setString(2, CANARY + " " + number);
                check("inserted", 1, insert.executeUpdate());
                find.setInt(1, number);
                try (ResultSet found = find.executeQuery()) {
                    check("prepared", List.of(CANARY + " " + number), all(found, "note"));
                }
            }
            check("deleted", 10, statement.executeUpdate("DELETE FROM visit WHERE person_id = 3"));
        }
    }

    /** Another session makes a statement mean something else: the driver prepares it anew by itself. */
    private static void preparedAnew() throws SQLException {
        try (Connection connection = connect("&autosave=conservative&prepareThreshold=1");
                Connection other = connect("");
                Statement statement = other.createStatement();
                PreparedStatement all = connection.prepareStatement("SELECT * FROM visit WHERE person_id = ?")) {
            all.setInt(1, 1);
            for (String change : List.of("ADD COLUMN room integer", "DROP COLUMN room")) {
                for (int round = 0; round < 3; round++) {
                    check("no rows", List.of(), ids(all));
                }
                statement.execute("ALTER TABLE visit " + change);
                try (ResultSet found = all.executeQuery()) {
                    int columns = change.startsWith("ADD") ? 4 : 3;
                    check("columns", columns, found.getMetaData().getColumnCount());
                }
            }
        }
    }

    /** A statement that waits for a row is cancelled by the driver, and the session goes on. */
    private static void cancelled(Connection connection) throws Exception {
        String change = "UPDATE person SET score = score + 1 WHERE id = 1";
        try (Connection other = connect("");
                Statement holding = other.createStatement();
                Statement waiting = connection.createStatement()) {
            other.setAutoCommit(false);
            holding.execute("SELECT score FROM person WHERE id = 1 FOR UPDATE");
            CompletableFuture<String> state = CompletableFuture.supplyAsync(() -> {
                try {
                    return "changed " + waiting.executeUpdate(change);
                } catch (SQLException error) {
                    return error.getSQLState();
                }
            });
            while (number(holding, "SELECT count(*) FROM pg_locks WHERE NOT granted") == 0) {
                check("done before it was cancelled", false, state.isDone());
            }
            waiting.cancel();
            check("cancelled", "57014", state.get());
            other.rollback();
            String score = "SELECT score FROM person WHERE id = 1";
            check("not changed", 9007199254740993L, number(waiting, score));
            check("changed", 1, waiting.executeUpdate(change));
            check("changed", 9007199254740994L, number(waiting, score));
            waiting.executeUpdate("UPDATE person SET score = score - 1 WHERE id = 1");
        }
    }

    private static long number(Statement statement, String query) throws SQLException {
        try (ResultSet found = statement.executeQuery(query)) {
            found.next();
            return found.getLong(1);
        }
    }

    private static void noticed(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DO $$ BEGIN RAISE NOTICE 'told %', 7; RAISE WARNING 'and warned'; END $$");
            SQLWarning told = statement.getWarnings();
            check("notice", "00000 told 7", told.getSQLState() + " " + told.getMessage());
            check("warning", "and warned", told.getNextWarning().getMessage());
            statement.execute(
                    "CREATE TABLE IF NOT EXISTS visit (person_id integer, number integer, note text)");
            told = statement.getWarnings();
            check("notice", "42P07 relation \"visit\" already exists, skipping",
                    told.getSQLState() + " " + told.getMessage());
            check("behind notices", 1L, number(statement,
                    "SELECT id FROM person WHERE name = '" + CANARY + " ann'"));
        }
    }

    private static void more() throws Exception {
        for (String options : List.of("", "&reWriteBatchedInserts=true", "&preferQueryMode=simple",
                "&binaryTransfer=false", "&prepareThreshold=1")) {
            try (Connection connection = connect(options)) {
                metadata(connection);
                searched(connection);
                changed(connection);
                refused(connection);
                saved(connection);
                copied(connection);
                fetched(connection);
                prepared(connection);
                cancelled(connection);
                noticed(connection);
            } catch (SQLException | AssertionError error) {
                throw new AssertionError("with '" + options + "': " + error.getMessage(), error);
            }
        }
        preparedAnew();
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "login" -> login(arguments.length > 1 ? "&channelBinding=require" : "");
            case "write" -> write();
            case "read" -> read();
            default -> more();
        }
    }
}
