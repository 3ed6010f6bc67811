// pgjdbc writes and reads protected columns as it does any others.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeMap;

public final class Client {
    private static final String CANARY = "canary-59d2-in-plain-text";
    private static final String COLUMNS = "id, born, salary, score, photo, active, name";
    private static final String INSERT =
            "INSERT INTO person (" + COLUMNS + ") VALUES (?, ?, ?, ?, ?, ?, ?)";

    private Client() {}

    private static Connection connect(String more) throws SQLException {
        return DriverManager.getConnection(System.getenv("STRONGROOM_JDBC_URL") + more);
    }

    private static void check(String what, Object wanted, Object got) {
        if (!wanted.equals(got)) {
            throw new AssertionError(what + ": expected " + wanted + ", got " + got);
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

    private static void more() throws SQLException {
        for (String options : List.of("", "&reWriteBatchedInserts=true", "&preferQueryMode=simple",
                "&binaryTransfer=false", "&prepareThreshold=1")) {
            try (Connection connection = connect(options)) {
                metadata(connection);
                searched(connection);
                changed(connection);
                refused(connection);
            } catch (SQLException | AssertionError error) {
                throw new AssertionError("with '" + options + "': " + error.getMessage(), error);
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "write" -> write();
            case "read" -> read();
            default -> more();
        }
    }
}
