import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import pub.dtm.client.DtmClient;
import pub.dtm.client.barrier.BranchBarrier;
import pub.dtm.client.saga.Saga;

/**
 * DTM's own Java client: sagas and TCC between two accounts, under its barrier, in the same Cohort.
 *
 * <p>DtmCheck SQL_PORT HTTP_PORT
 */
public class DtmCheck {
    private static final String[] SCHEMA = {
        "CREATE DATABASE bank",
        "CREATE TABLE bank.account (id INT PRIMARY KEY, balance INT NOT NULL)",
        "INSERT INTO bank.account VALUES (0, 1000), (1, 1000)",
        // This client looks for it where the business is.
        "CREATE TABLE bank.barrier (id BIGINT(22) PRIMARY KEY AUTO_INCREMENT,"
            + " trans_type VARCHAR(45) DEFAULT '', gid VARCHAR(128) DEFAULT '',"
            + " branch_id VARCHAR(128) DEFAULT '', op VARCHAR(45) DEFAULT '',"
            + " barrier_id VARCHAR(45) DEFAULT '', reason VARCHAR(45) DEFAULT '',"
            + " create_time DATETIME DEFAULT now(), update_time DATETIME DEFAULT now(),"
            + " UNIQUE KEY (gid, branch_id, op, barrier_id))",
    };

    /** What each path of the bank does: to which account it adds how many tens. */
    private static final Map<String, int[]> CHANGES = Map.of(
        "/out", new int[] {0, -1}, "/out-undo", new int[] {0, 1},
        "/in", new int[] {1, 1}, "/in-undo", new int[] {1, -1});

    private final String database;
    private final DtmClient client;
    private final String bank;

    private DtmCheck(String sqlPort, String httpPort) throws Exception {
        database = "jdbc:mysql://127.0.0.1:" + sqlPort + "/?user=root";
        client = new DtmClient("127.0.0.1:" + httpPort);
        try (Connection connection = DriverManager.getConnection(database);
                Statement statement = connection.createStatement()) {
            for (String sql : SCHEMA) {
                statement.execute(sql);
            }
        }
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", this::serve);
        server.setExecutor(Executors.newCachedThreadPool(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        }));
        server.start();
        bank = "http://127.0.0.1:" + server.getAddress().getPort();
    }

    private void serve(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        int status = 200;
        String answer = "{\"dtm_result\":\"SUCCESS\"}";
        try {
            String path = exchange.getRequestURI().getPath();
            if (path.equals("/refuse")) {
                status = 409;
                answer = "{\"dtm_result\":\"FAILURE\"}";
            } else if (CHANGES.containsKey(path)) {
                change(CHANGES.get(path), exchange.getRequestURI().getRawQuery());
            }
        } catch (Exception error) {
            status = 500;
            answer = String.valueOf(error);
            System.err.println(exchange.getRequestURI() + ": " + error);
        }
        byte[] bytes = answer.getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private void change(int[] change, String query) throws Exception {
        Map<String, String[]> parameters = new HashMap<>();
        for (String pair : query.split("&")) {
            String[] parts = pair.split("=", 2);
            String value = URLDecoder.decode(parts[1], StandardCharsets.UTF_8);
            parameters.put(parts[0], new String[] {value});
        }
        try (Connection connection = DriverManager.getConnection(database)) {
            connection.setCatalog("bank");
            new BranchBarrier(parameters).call(connection, barrier -> {
                String sql = "UPDATE bank.account SET balance = balance + ? WHERE id = ?";
                try (PreparedStatement statement = connection.prepareStatement(sql)) {
                    statement.setInt(1, 10 * change[1]);
                    statement.setInt(2, change[0]);
                    statement.executeUpdate();
                }
            });
        }
    }

    private String ask(String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(database);
                Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery(sql)) {
            return result.next() ? result.getString(1) : "";
        }
    }

    private void expect(String gid, String status, String balances) throws Exception {
        String found = "";
        String query = "SELECT status FROM cohort.global_transactions WHERE gid = '" + gid + "'";
        for (int i = 0; i < 200 && !found.equals(status); i++) {
            Thread.sleep(20);
            found = ask(query);
        }
        String now = ask("SELECT GROUP_CONCAT(balance ORDER BY id) FROM bank.account");
        if (!found.equals(status) || !now.equals(balances)) {
            throw new AssertionError(gid + ": " + found + ", " + now);
        }
    }

    private void run() throws Exception {
        Map<String, String> body = Map.of("amount", "10");
        Saga saga = client.newSaga("saga-ok").enableWaitResult();
        saga.add(bank + "/out", bank + "/out-undo", body);
        saga.add(bank + "/in", bank + "/in-undo", body);
        saga.submit();
        expect("saga-ok", "succeed", "990,1010");

        saga = client.newSaga("saga-refused");
        saga.add(bank + "/out", bank + "/out-undo", body);
        // This client's barrier does not hold for a compensation without its action.
        saga.add(bank + "/refuse", bank + "/nothing", body);
        saga.submit();
        expect("saga-refused", "failed", "990,1010");

        client.tccGlobalTransaction("tcc-ok", tcc -> {
            tcc.callBranch(body, bank + "/nothing", bank + "/out", bank + "/nothing").close();
            tcc.callBranch(body, bank + "/nothing", bank + "/in", bank + "/nothing").close();
        });
        expect("tcc-ok", "succeed", "980,1020");

        try {
            client.tccGlobalTransaction("tcc-refused", tcc -> {
                tcc.callBranch(body, bank + "/out", bank + "/nothing", bank + "/out-undo").close();
                throw new Exception("refused");
            });
        } catch (Exception refused) {
            // The client aborts, and may or may not say so.
        }
        expect("tcc-refused", "failed", "980,1020");
        // Without a name it asks for one.
        String gid = client.tccGlobalTransaction(tcc -> { });
        if (gid.length() != 22) {
            throw new AssertionError("a gid: " + gid);
        }
        expect(gid, "succeed", "980,1020");
    }

    public static void main(String[] arguments) throws Exception {
        try {
            new DtmCheck(arguments[0], arguments[1]).run();
            System.out.println("dtm_java: sagas and TCC ended as they must");
            System.exit(0);
        } catch (Throwable error) {
            // The client's threads would keep the process alive.
            error.printStackTrace();
            System.exit(1);
        }
    }
}
