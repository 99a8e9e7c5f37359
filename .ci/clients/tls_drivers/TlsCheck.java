import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Opens a connection with Connector/J for each URL of its input, and says in a line what it saw, or why not. */
public class TlsCheck {
    static String status(Statement statement, String name) throws SQLException {
        try (ResultSet rows = statement.executeQuery("SHOW STATUS LIKE '" + name + "'")) {
            rows.next();
            return rows.getString(2);
        }
    }

    static String look(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            String seen = status(statement, "Ssl_version") + "\t" + status(statement, "Compression");
            // Packets that are long, and many.
            try (ResultSet rows = statement.executeQuery("SELECT REPEAT('a tall tale ', 200000), CURRENT_USER()")) {
                rows.next();
                seen += "\t" + rows.getString(1).length() + "\t" + rows.getString(2);
            }
            try (var prepared = connection.prepareStatement("SELECT LENGTH(?)")) {
                prepared.setString(1, "x".repeat(3_000_000));
                try (ResultSet rows = prepared.executeQuery()) {
                    rows.next();
                    return seen + "\t" + rows.getLong(1);
                }
            }
        }
    }

    static String why(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(cause.getMessage()).append(" / ");
        }
        return text.toString().replaceAll("\\s+", " ");
    }

    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String url = input.readLine(); url != null; url = input.readLine()) {
            try {
                System.out.println("ok\t" + look(url));
            } catch (SQLException error) {
                System.out.println("failed\t" + why(error));
            }
        }
    }
}
