// Java's drivers with protected columns: each answer is a line, see mysql-twin.sh.

import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;

public class Client {
    static final String CANARY = "canary-59d2-in-plain-text";

    interface Does {
        Object run() throws SQLException;
    }

    static void says(String name, Does does) {
        Object value;
        try {
            value = does.run();
        } catch (SQLException error) {
            value = List.of(error.getErrorCode(), String.valueOf(error.getSQLState()), shortened(error.getMessage()));
        }
        System.out.println(name + "\t" + String.valueOf(value).replace("\n", "\\n"));
    }

    // MariaDB's driver puts the number of the connection before messages.
    static String shortened(String message) {
        return message.replaceAll("\\(conn=\\d+\\) ", "");
    }

    static List<Object> rows(ResultSet found) throws SQLException {
        ResultSetMetaData columns = found.getMetaData();
        List<Object> told = new ArrayList<>();
        for (int at = 1; at <= columns.getColumnCount(); at++) {
            told.add(columns.getColumnLabel(at) + ":" + columns.getColumnTypeName(at) + ":" + columns.getColumnType(at)
                + ":" + columns.getPrecision(at) + ":" + columns.getScale(at) + ":" + columns.isNullable(at));
        }
        while (found.next()) {
            List<Object> row = new ArrayList<>();
            for (int at = 1; at <= columns.getColumnCount(); at++) {
                Object value = found.getObject(at);
                row.add(value instanceof byte[] bytes ? Arrays.toString(bytes) : value);
            }
            told.add(row);
        }
        return told;
    }

    // What the driver computes from `information_schema` has other lengths and flags.
    static List<Object> values(ResultSet found) throws SQLException {
        List<Object> told = rows(found);
        return told.subList(found.getMetaData().getColumnCount(), told.size());
    }

    static PreparedStatement bound(Connection connection, String text, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(text);
        for (int at = 0; at < values.length; at++) {
            statement.setObject(at + 1, values[at]);
        }
        return statement;
    }

    static Object ask(Connection connection, String text, Object... values) throws SQLException {
        try (PreparedStatement statement = bound(connection, text, values)) {
            return rows(statement.executeQuery());
        }
    }

    static Object change(Connection connection, String text, Object... values) throws SQLException {
        try (PreparedStatement statement = bound(connection, text, values)) {
            return statement.executeUpdate();
        }
    }

    public static void main(String[] arguments) throws SQLException {
        String driver = arguments[0];
        for (String way : List.of("texts", "prepared", "rewritten")) {
            Properties settings = new Properties();
            settings.setProperty("user", System.getenv("STRONGROOM_USER"));
            settings.setProperty("password", System.getenv("STRONGROOM_PASSWORD"));
            settings.setProperty("useServerPrepStmts", String.valueOf(way.equals("prepared")));
            settings.setProperty("sslMode", driver.equals("mysql") ? "PREFERRED" : "disable");
            if (way.equals("rewritten")) {
                settings.setProperty("rewriteBatchedStatements", "true");
            }
            String url = "jdbc:" + driver + "://" + System.getenv("STRONGROOM_HOST") + ":"
                + System.getenv("STRONGROOM_PORT") + "/" + System.getenv("STRONGROOM_DATABASE");
            try (Connection connection = DriverManager.getConnection(url, settings)) {
                statements(connection, way + ": ");
                metadata(connection, way + ": ");
            }
        }
    }

    static void statements(Connection connection, String way) throws SQLException {
        change(connection, "DELETE FROM visit");
        change(connection, "DELETE FROM person");
        connection.setAutoCommit(false);
        String insert = "INSERT INTO person (id, name, born, salary, score, photo, active) VALUES (?, ?, ?, ?, ?, ?, ?)";
        says(way + "ann", () -> change(connection, insert, 1, CANARY + " ann", Date.valueOf("1990-02-28"),
            new BigDecimal("1234.50"), 9007199254740993L, new byte[] {0, -1, 'j', '\''}, true));
        says(way + "bøb", () -> change(connection, insert, 2, CANARY + " bøb 🙂", Date.valueOf("2004-02-29"),
            new BigDecimal("7.25"), -1L, null, false));
        says(way + "o'hara", () -> change(connection, insert, 3, CANARY + " o'hara \\", null, null, null,
            new byte[] {'\\'}, null));
        connection.commit();
        says(way + "all", () -> ask(connection, "SELECT * FROM person ORDER BY id"));
        says(way + "by key", () -> ask(connection, "SELECT name, score FROM person WHERE id = ?", 2));
        says(way + "by text", () -> ask(connection, "SELECT id FROM person WHERE name = ?", CANARY + " o'hara \\"));
        says(way + "by range", () -> ask(connection, "SELECT id, born FROM person WHERE born > ? ORDER BY born",
            Date.valueOf("1980-01-01")));
        says(way + "sum", () -> ask(connection, "SELECT SUM(salary) AS total FROM person"));
        says(way + "batch", () -> {
            try (PreparedStatement statement = connection.prepareStatement(
                    "INSERT INTO visit (number, person_id, note) VALUES (?, ?, ?)")) {
                for (int number = 1; number <= 100; number++) {
                    statement.setInt(1, number);
                    statement.setInt(2, 1 + number % 3);
                    statement.setString(3, CANARY + " " + number);
                    statement.addBatch();
                }
                return statement.executeBatch().length;
            }
        });
        says(way + "batch of updates", () -> {
            try (PreparedStatement statement = connection.prepareStatement("UPDATE visit SET note = ? WHERE number = ?")) {
                for (int number = 1; number <= 10; number++) {
                    statement.setString(1, CANARY + " new " + number);
                    statement.setInt(2, number);
                    statement.addBatch();
                }
                return Arrays.toString(statement.executeBatch());
            }
        });
        says(way + "visits", () -> ask(connection, "SELECT number, note FROM visit WHERE number < 12 ORDER BY number"));
        says(way + "join", () -> ask(connection, "SELECT p.name, v.note FROM visit v JOIN person p ON p.id = "
            + "v.person_id WHERE p.id = ? ORDER BY v.number LIMIT 2", 2));
        Savepoint here = connection.setSavepoint("here");
        says(way + "deleted", () -> change(connection, "DELETE FROM visit WHERE person_id = ?", 2));
        connection.rollback(here);
        says(way + "counted", () -> ask(connection, "SELECT person_id, COUNT(*) AS visits FROM visit GROUP BY person_id"));
        says(way + "duplicate key", () -> change(connection, "INSERT INTO person (id, name) VALUES (?, ?)", 1, "x"));
        says(way + "no such person", () -> change(connection, "INSERT INTO visit (person_id) VALUES (?)", 77));
        says(way + "increment", () -> change(connection, "UPDATE person SET score = score + ? WHERE id = ?", 1, 1));
        says(way + "upsert", () -> change(connection, "INSERT INTO person (id, name) VALUES (?, ?) ON DUPLICATE KEY "
            + "UPDATE name = VALUES(name)", 3, "z"));
        says(way + "generated", () -> {
            try (PreparedStatement statement = connection.prepareStatement(
                    "INSERT INTO visit (person_id, note) VALUES (?, ?)", Statement.RETURN_GENERATED_KEYS)) {
                statement.setInt(1, 1);
                statement.setString(2, CANARY);
                statement.executeUpdate();
                ResultSet keys = statement.getGeneratedKeys();
                return keys.next() && keys.getLong(1) > 100;
            }
        });
        says(way + "changed rows", () -> {
            try (Statement statement = connection.createStatement()) {
                boolean isRows = statement.execute("SELECT name FROM person WHERE id = 1");
                return List.of(isRows, rows(statement.getResultSet()));
            }
        });
        says(way + "streamed", () -> {
            try (Statement statement = connection.createStatement()) {
                statement.setFetchSize(Integer.MIN_VALUE);
                ResultSet found = statement.executeQuery("SELECT note FROM visit");
                int count = 0;
                while (found.next()) {
                    count++;
                }
                return count;
            } catch (SQLException error) {
                // MariaDB's driver takes numbers from 1 on alone.
                return "no such size";
            }
        });
        connection.rollback();
        connection.setAutoCommit(true);
        says(way + "rolled back", () -> ask(connection, "SELECT COUNT(*) AS visits FROM visit"));
    }

    static void metadata(Connection connection, String way) throws SQLException {
        DatabaseMetaData about = connection.getMetaData();
        String own = connection.getCatalog();
        says(way + "tables", () -> values(about.getTables(own, null, "%", new String[] {"TABLE"})));
        says(way + "columns of person", () -> values(about.getColumns(own, null, "person", "%")));
        says(way + "columns of visit", () -> values(about.getColumns(own, null, "visit", "%")));
        says(way + "primary keys", () -> values(about.getPrimaryKeys(own, null, "person")));
        says(way + "imported keys", () -> values(about.getImportedKeys(own, null, "visit")));
        says(way + "exported keys", () -> values(about.getExportedKeys(own, null, "person")));
        says(way + "best row", () -> values(about.getBestRowIdentifier(own, null, "person", 1, true)));
    }
}
