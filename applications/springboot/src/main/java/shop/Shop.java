package shop;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.datatype.jsr310.JavaTimeModule;
import java.sql.SQLException;
import java.util.Arrays;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.builder.SpringApplicationBuilder;

/** A shop in Spring Boot: Flyway, Hibernate, Spring Data, JDBC. */
@SpringBootApplication
public class Shop {
  public interface Run {
    void run() throws Exception;
  }

  static final ObjectMapper JSON = new ObjectMapper().registerModule(new JavaTimeModule())
      .disable(SerializationFeature.WRITE_DATES_AS_TIMESTAMPS).enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS);

  public static void show(Object... values) {
    try {
      System.out.println(JSON.writeValueAsString(values.length == 1 ? values[0] : Arrays.asList(values)));
    } catch (Exception error) {
      throw new IllegalStateException(error);
    }
  }

  public static void step(String name, Run run) {
    try {
      run.run();
      System.out.println("step " + name + " ok");
    } catch (Exception error) {
      if (System.getenv("STEPS_TRACE") != null) error.printStackTrace();
      System.out.println("step " + name + " FAILED " + error.getClass().getSimpleName() + ": " + String.valueOf(error.getMessage()).replace('\n', ' '));
    }
  }

  /** Runs what must fail; prints the classes of the error, and the server's code. */
  public static void fails(Run run) throws Exception {
    try {
      run.run();
    } catch (Exception error) {
      String constraint = null;
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        if (cause instanceof org.hibernate.exception.ConstraintViolationException violation) constraint = violation.getConstraintName();
        if (cause instanceof SQLException sql) {
          String words = sql.getMessage().replaceAll(" \\(the lock is held by: .*\\)$", "");
          show(error.getClass().getSimpleName(), sql.getClass().getSimpleName(), sql.getErrorCode(), sql.getSQLState(), words, constraint);
          return;
        }
      }
      show(error.getClass().getSimpleName(), String.valueOf(error.getMessage()).replaceAll("[0-9a-f-]{36}", "UUID"));
      return;
    }
    throw new IllegalStateException("there was no error");
  }

  public static void main(String[] arguments) {
    String url = "jdbc:mysql://" + arguments[0] + ":" + arguments[1] + "/" + arguments[3] + "?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectionTimeZone=UTC";
    step("start", () -> {
      var context = new SpringApplicationBuilder(Shop.class).properties("spring.datasource.url=" + url, "spring.datasource.username=" + arguments[2], "spring.datasource.password=").run();
      new Using(context).all();
      context.close();
    });
    step("schema of Hibernate", () -> new own.Schema(url, arguments[2]).all());
  }
}
