import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * Debezium's MySQL connector, embedded and unmodified: each change of a database as a line of JSON.
 * It goes on where it was, as its files in DIRECTORY say, and ends in good order when its standard
 * input ends.
 *
 * <p>Usage: Follow PORT DATABASE DIRECTORY
 */
public class Follow {
    public static void main(String[] args) throws Exception {
        String port = args[0];
        String database = args[1];
        Path directory = Path.of(args[2]);
        PrintStream lines = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        Properties settings = new Properties();
        settings.setProperty("name", "check");
        settings.setProperty("connector.class", "io.debezium.connector.mysql.MySqlConnector");
        settings.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
        settings.setProperty("offset.storage.file.filename", directory.resolve("offsets").toString());
        settings.setProperty("offset.flush.interval.ms", "200");
        settings.setProperty("schema.history.internal", "io.debezium.storage.file.history.FileSchemaHistory");
        settings.setProperty(
                "schema.history.internal.file.filename", directory.resolve("history").toString());
        settings.setProperty("topic.prefix", "check");
        settings.setProperty("database.hostname", "127.0.0.1");
        settings.setProperty("database.port", port);
        settings.setProperty("database.user", "repl");
        settings.setProperty("database.password", "secret");
        settings.setProperty("database.server.id", "5151");
        settings.setProperty("database.include.list", database);
        settings.setProperty("decimal.handling.mode", "string");
        settings.setProperty("binary.handling.mode", "hex");
        settings.setProperty("include.schema.changes", "false");
        settings.setProperty("tombstones.on.delete", "false");
        settings.setProperty("errors.max.retries", "-1");
        settings.setProperty("errors.retry.delay.initial.ms", "100");
        settings.setProperty("errors.retry.delay.max.ms", "500");
        // Some losses of the server are only seen by the thread that looks once in this time: a
        // minute, if it is not told otherwise.
        settings.setProperty("connect.keep.alive.interval.ms", "1000");
        settings.setProperty("key.converter.schemas.enable", "false");
        settings.setProperty("value.converter.schemas.enable", "false");
        DebeziumEngine<ChangeEvent<String, String>> engine =
                DebeziumEngine.create(Json.class)
                        .using(settings)
                        .notifying(
                                event -> {
                                    lines.println(event.value());
                                    lines.flush();
                                })
                        .using(
                                (success, message, error) -> {
                                    if (!success) {
                                        System.err.println("debezium ended: " + message);
                                        if (error != null) {
                                            error.printStackTrace();
                                        }
                                        System.exit(1);
                                    }
                                })
                        .build();
        ExecutorService thread = Executors.newSingleThreadExecutor();
        thread.execute(engine);
        while (System.in.read() >= 0) {
            // Until it ends.
        }
        // One that is about to start cannot be closed.
        for (boolean open = true; open; ) {
            try {
                engine.close();
                open = false;
            } catch (IllegalStateException starting) {
                Thread.sleep(100);
            }
        }
        thread.shutdown();
        thread.awaitTermination(30, TimeUnit.SECONDS);
        System.exit(0);
    }
}
