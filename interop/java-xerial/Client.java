// A client with org.xerial:sqlite-jdbc. ../README.md says what it must do.

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLEncoder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.sqlite.SQLiteConfig;

class Client {
    /** Loaded on any connection, the extension stays for the whole process. */
    static void loadExtension() throws SQLException {
        var config = new SQLiteConfig();
        config.enableLoadExtension(true);
        try (var any = config.createConnection("jdbc:sqlite::memory:");
                var load = any.prepareStatement("SELECT load_extension(?)")) {
            load.setString(1, System.getenv("STRONGROOM_EXTENSION"));
            load.execute();
        }
    }

    static Connection open(String file, String keyFile) throws SQLException {
        var uri = "jdbc:sqlite:file:" + escaped(file) + "?vfs=strongroom";
        if (keyFile != null) {
            uri += "&key_file=" + escaped(keyFile);
        }
        return DriverManager.getConnection(uri);
    }

    static String escaped(String text) {
        return URLEncoder.encode(text, UTF_8).replace("+", "%20");
    }

    static void execute(Connection connection, String sql) throws SQLException {
        try (var statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    static Object fromText(String type, String value) {
        return switch (type) {
            case "null" -> null;
            case "integer" -> Long.valueOf(value);
            case "real" -> Double.valueOf(value);
            case "text" -> value;
            default -> HexFormat.of().parseHex(value);
        };
    }

    static void write(Connection connection) throws SQLException, IOException {
        for (var statement : Files.readAllLines(Path.of(System.getenv("STRONGROOM_SCHEMA")))) {
            execute(connection, statement);
        }
        connection.setAutoCommit(false);
        var lines = new BufferedReader(new InputStreamReader(System.in, UTF_8));
        try (var insert = connection.prepareStatement("INSERT INTO rows VALUES(?, ?)")) {
            for (String line; (line = lines.readLine()) != null; ) {
                var fields = (line + " ").split(" ", 3);
                insert.setLong(1, Long.parseLong(fields[0]));
                insert.setObject(2, fromText(fields[1], fields[2].stripTrailing()));
                insert.executeUpdate();
            }
        }
        connection.commit();
    }

    static String asText(Object value) {
        if (value == null) {
            return "null";
        } else if (value instanceof Double) {
            return "real " + value;
        } else if (value instanceof String) {
            return "text " + value;
        } else if (value instanceof byte[] bytes) {
            return "blob " + HexFormat.of().formatHex(bytes);
        }
        return "integer " + value;
    }

    static void read(Connection connection) throws SQLException {
        var output = new PrintStream(System.out, false, UTF_8);
        try (var statement = connection.createStatement();
                var rows = statement.executeQuery("SELECT id, value FROM rows ORDER BY id")) {
            while (rows.next()) {
                output.println(rows.getLong(1) + " " + asText(rows.getObject(2)));
            }
        }
        output.flush();
    }

    static String ask(Connection connection, String query) throws SQLException {
        try (var statement = connection.createStatement();
                var rows = statement.executeQuery(query)) {
            return rows.getString(1);
        }
    }

    static void writeAheadLog(String file, String keyFile) throws SQLException {
        var count = "SELECT count(*) FROM log";
        List<String> seen = new ArrayList<>();
        try (var one = open(file, keyFile)) {
            seen.add(ask(one, "PRAGMA journal_mode=WAL"));
            execute(one, "CREATE TABLE log(n)");
            execute(one, "INSERT INTO log VALUES(1)");
            try (var two = open(file, keyFile)) {
                seen.add(ask(two, count));
                execute(one, "BEGIN");
                execute(one, "INSERT INTO log VALUES(2)");
                seen.add(ask(two, count));
                execute(one, "COMMIT");
                seen.add(ask(two, count));
                execute(two, "INSERT INTO log VALUES(3)");
                seen.add(ask(one, count));
            }
        }
        System.out.println(String.join(" ", seen));
    }

    public static void main(String[] arguments) throws IOException {
        var keyFile = arguments.length > 2 ? arguments[2] : null;
        try {
            loadExtension();
            if (arguments[0].equals("wal")) {
                writeAheadLog(arguments[1], keyFile);
                return;
            }
            try (var connection = open(arguments[1], keyFile)) {
                if (arguments[0].equals("write")) {
                    write(connection);
                } else {
                    read(connection);
                }
            }
        } catch (SQLException error) {
            System.err.println(error.getMessage());
            System.exit(1);
        }
    }
}
