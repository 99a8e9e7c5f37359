package shop;

import java.sql.*;
import javax.sql.DataSource;
import org.springframework.jdbc.core.JdbcTemplate;

/** A connection of its own, with other settings of the driver. */
interface DataSourceUser {
  void use(Connection connection) throws SQLException;

  static void with(JdbcTemplate jdbc, String settings, DataSourceUser user) throws SQLException {
    DataSource source = jdbc.getDataSource();
    String url, name;
    try (Connection pooled = source.getConnection()) {
      url = pooled.getMetaData().getURL();
      name = pooled.getMetaData().getUserName().replaceAll("@.*", "");
    }
    try (Connection connection = DriverManager.getConnection(url + "&" + settings, name, "")) {
      user.use(connection);
    }
  }
}
