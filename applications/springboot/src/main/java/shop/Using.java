package shop;

import static shop.Shop.*;

import jakarta.persistence.EntityManager;
import jakarta.persistence.criteria.*;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import org.flywaydb.core.Flyway;
import org.hibernate.Session;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.domain.*;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.namedparam.NamedParameterJdbcTemplate;
import org.springframework.jdbc.core.simple.SimpleJdbcInsert;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.*;
import org.springframework.transaction.support.*;

/** What a service does with the shop. */
class Using {
  final ConfigurableApplicationContext context;
  final Products products;
  final Customers customers;
  final EntityManager manager;
  final JdbcTemplate jdbc;
  final TransactionTemplate within;

  Using(ConfigurableApplicationContext context) {
    this.context = context;
    products = context.getBean(Products.class);
    customers = context.getBean(Customers.class);
    manager = context.getBean(EntityManager.class);
    jdbc = context.getBean(JdbcTemplate.class);
    within = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
  }

  void all() {
    migrations();
    rows();
    queries();
    errors();
    transactions();
    plain();
    metadata();
  }

  void migrations() {
    Flyway flyway = context.getBean(Flyway.class);
    step("flyway", () -> {
      for (var done : flyway.info().all()) show(String.valueOf(done.getVersion()), done.getDescription(), done.getState().name(), done.getType().name());
      show(flyway.migrate().migrationsExecuted);
      flyway.validate();
    });
    step("flyway fails and is repaired", () -> {
      jdbc.update("UPDATE flyway_schema_history SET checksum = 1 WHERE version = '2'");
      try {
        flyway.validate();
      } catch (Exception error) {
        show(error.getClass().getSimpleName());
      }
      show(flyway.repair().migrationsAligned.size());
      flyway.validate();
    });
    step("tables", () -> {
      for (String table : List.of("customers", "products", "orders", "order_lines", "turnover"))
        show(jdbc.queryForMap("SHOW CREATE TABLE " + table).values().toArray()[1].toString().replaceAll("DEFINER=\\S+", ""));
    });
  }

  void rows() {
    step("persist", () -> {
      within.executeWithoutResult(status -> {
        Customer ann = new Customer("ann@example.org", "Ann É 🙂");
        ann.settings = Map.of("theme", "dark", "sizes", List.of(1, 2));
        ann.born = LocalDate.of(1990, 2, 28);
        ann.seen = Instant.parse("2024-05-06T07:08:09.123456Z");
        ann.address = new Customer.Address("High Street", "Bath");
        ann.phones.addAll(List.of("123", "456"));
        customers.save(ann);
        Customer bob = new Customer("bob@example.org", "Bob");
        bob.kind = Customer.Kind.FIRM;
        bob.active = false;
        customers.save(bob);
      });
      within.executeWithoutResult(status -> {
        Customer ann = customers.findByEmail("ann@example.org").orElseThrow();
        show(ann.name, ann.settings, ann.born, ann.seen, ann.address, ann.phones, ann.kind, ann.active, ann.version);
        show(manager.unwrap(Session.class).bySimpleNaturalId(Customer.class).load("bob@example.org").active);
      });
    });
    step("batch", () -> {
      List<Product> many = new ArrayList<>();
      for (int i = 0; i < 300; i++) {
        Product product = new Product("P%03d".formatted(i), "Product " + i % 20, new BigDecimal(i * 125).movePointLeft(2), i);
        product.weight = i / 7.0;
        product.rating = i / 10f;
        product.picture = new byte[] {0, (byte) i, -1};
        product.about = "about ".repeat(i);
        product.opens = LocalTime.of(i % 24, 1, 2, 345_000_000);
        many.add(product);
      }
      products.saveAll(many);
      Product one = products.findBySku("P007").orElseThrow();
      show(products.count(), one.price, one.gross, one.weight, one.rating, one.picture, one.about.length(), one.opens, one.made != null);
    });
    step("orders", () -> within.executeWithoutResult(status -> {
      Customer ann = customers.findByEmail("ann@example.org").orElseThrow();
      for (int i = 1; i <= 5; i++) {
        Order order = new Order(ann, Instant.parse("2024-01-0" + i + "T10:11:12.5Z"));
        for (int line = 1; line <= i; line++) order.lines.add(new Order.Line(order, line, products.findBySku("P00" + line).orElseThrow(), line * 2));
        order.state = Order.State.values()[i % 3];
      }
    }));
    step("graph", () -> within.executeWithoutResult(status -> {
      Customer ann = manager.createQuery("select c from Customer c join fetch c.orders where c.email = 'ann@example.org'", Customer.class).getSingleResult();
      for (Order order : ann.orders) show(order.id, order.state, order.placed, order.lines.stream().map(line -> line.product.sku + "*" + line.quantity).toList());
      ann.orders.get(4).lines.remove(0);
      ann.orders.get(3).note = "changed";
    }));
    step("after", () -> show(jdbc.queryForList("SELECT order_id, line, quantity FROM order_lines WHERE order_id > 3 ORDER BY 1, 2"), jdbc.queryForList("SELECT id, version, note FROM orders ORDER BY id"), jdbc.queryForList("SELECT orders, total FROM turnover")));
  }

  void queries() {
    step("derived queries", () -> {
      show(products.findTop3ByTitleContainingIgnoreCaseAndPriceBetweenOrderByPriceDescSkuAsc("PRODUCT 1", new BigDecimal("10"), new BigDecimal("99.99")).stream().map(p -> p.sku).toList());
      Page<Product> page = products.findByStockLessThan(50, PageRequest.of(1, 7, Sort.by("price").descending()));
      show(page.getTotalElements(), page.getTotalPages(), page.map(p -> p.sku).getContent());
      show(products.findByTitleIn(List.of("Product 3", "Product 4"), PageRequest.of(0, 4, Sort.by("sku"))).hasNext(), products.countByWeightIsNull(), products.existsBySku("P001"));
    });
    step("aggregates", () -> {
      for (var row : products.byTitle()) show(row.getTitle(), row.getCount(), row.getSum());
      for (var row : products.ranked(5)) show(row);
      show(manager.createQuery("select avg(p.stock), max(p.price), min(p.opens), sum(p.weight), count(distinct p.title) from Product p", Object[].class).getSingleResult());
    });
    step("criteria", () -> show(products.findAll((root, query, build) -> {
      Subquery<BigDecimal> mean = query.subquery(BigDecimal.class);
      Root<Product> other = mean.from(Product.class);
      mean.select(build.max(other.get("price"))).where(build.equal(other.get("title"), root.get("title")));
      return build.and(build.equal(root.get("price"), mean), build.like(root.get("title"), "%5"), build.isNotNull(root.get("opens")));
    }, Sort.by("id")).stream().map(p -> p.sku).toList()));
    step("hql", () -> within.executeWithoutResult(status -> {
      show(manager.createQuery("select p.sku, rank() over (partition by p.title order by p.stock desc), lag(p.price) over (order by p.id) from Product p order by p.id limit 4", Object[].class).getResultList());
      show(manager.createQuery("with few as (select p.title t, count(*) n from Product p group by p.title) select f.t, f.n from few f order by f.t limit 3", Object[].class).getResultList());
      show(manager.createQuery("select extract(year from o.placed), month(o.placed), cast(o.placed as LocalDate), o.placed + 1 day, concat(o.state, '-', str(o.id)) from Order o order by o.id limit 2", Object[].class).getResultList());
      show(manager.createQuery("select c.name from Customer c where c.settings is not null and cast(function('json_value', c.settings, '$.theme') as String) = 'dark'", String.class).getResultList());
      show(manager.createQuery("select p.sku from Product p where p.stock < 3 union select p.sku from Product p where p.stock > 298 order by 1", String.class).getResultList());
      show(manager.createQuery("select listagg(p.sku, ',') within group (order by p.sku) from Product p where p.title = 'Product 1'", String.class).getSingleResult());
      show(manager.createQuery("select o.id from Order o left join o.lines l on l.quantity > 5 group by o.id having count(l) = 0 order by o.id", Long.class).getResultList());
      show(manager.createQuery("select p.sku from Product p where p.sku like 'P00_' escape '!' and not exists (select 1 from Line l where l.product = p) order by p.sku", String.class).getResultList());
      show(manager.createQuery("insert into Product (sku, title, price, stock) select concat('C', p.sku), 'copied', p.price, 0 from Product p where p.stock < 5").executeUpdate());
      show(manager.createQuery("delete from Product p where p.title = 'copied'").executeUpdate());
    }));
    step("changes", () -> {
      within.executeWithoutResult(status -> show(products.raise("Product 6", 10)));
      within.executeWithoutResult(status -> show(products.deleteByTitle("Product 19")));
      show(products.count());
    });
    step("stream", () -> within.executeWithoutResult(status -> {
      try (var all = products.streamed()) {
        show(all.mapToLong(p -> p.stock).sum());
      }
    }));
  }

  void errors() {
    step("unique", () -> fails(() -> products.saveAndFlush(new Product("P001", "x", BigDecimal.ONE, 1))));
    step("no parent", () -> fails(() -> jdbc.update("INSERT INTO order_lines VALUES (1, 99, 4711, 1)")));
    step("has children", () -> fails(() -> products.deleteById(products.findBySku("P001").orElseThrow().id)));
    step("check", () -> fails(() -> products.saveAndFlush(new Product("NEG", "x", BigDecimal.ONE.negate(), 1))));
    step("too long", () -> fails(() -> products.saveAndFlush(new Product("x".repeat(21), "x", BigDecimal.ONE, 1))));
    step("out of range", () -> fails(() -> products.saveAndFlush(new Product("NEG", "x", BigDecimal.ONE, -1))));
    step("null", () -> fails(() -> products.saveAndFlush(new Product("NUL", null, BigDecimal.ONE, 1))));
    step("enum", () -> fails(() -> jdbc.update("UPDATE orders SET state = 'LOST'")));
    step("syntax", () -> fails(() -> jdbc.queryForList("SELEC 1")));
    step("no table", () -> fails(() -> jdbc.queryForList("SELECT * FROM nowhere")));
    step("no column", () -> fails(() -> jdbc.queryForList("SELECT colour FROM products")));
    step("optimistic lock", () -> {
      Order order = within.execute(status -> manager.createQuery("from Order o order by o.id limit 1", Order.class).getSingleResult());
      jdbc.update("UPDATE orders SET version = version + 1 WHERE id = ?", order.id);
      order.note = "late";
      fails(() -> within.executeWithoutResult(status -> manager.merge(order)));
    });
  }

  int stock(String sku) {
    return jdbc.queryForObject("SELECT stock FROM products WHERE sku = ?", Integer.class, sku);
  }

  void set(String sku, int stock) {
    jdbc.update("UPDATE products SET stock = ? WHERE sku = ?", stock, sku);
  }

  void transactions() {
    step("rollback", () -> {
      try {
        within.executeWithoutResult(status -> {
          products.findBySku("P010").orElseThrow().stock = 77;
          manager.flush();
          show(stock("P010"));
          throw new IllegalStateException("undo");
        });
      } catch (IllegalStateException error) {
        show(error.getMessage(), stock("P010"));
      }
    });
    step("savepoints", () -> new TransactionTemplate(new DataSourceTransactionManager(jdbc.getDataSource())).executeWithoutResult(status -> {
      set("P011", 1);
      Object point = status.createSavepoint();
      set("P011", 2);
      status.rollbackToSavepoint(point);
      status.releaseSavepoint(point);
      show(stock("P011"));
    }));
    for (int level : new int[] {Connection.TRANSACTION_READ_UNCOMMITTED, Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
      step("isolation " + level, () -> {
        TransactionTemplate isolated = new TransactionTemplate(within.getTransactionManager());
        isolated.setIsolationLevel(level);
        TransactionTemplate own = new TransactionTemplate(within.getTransactionManager());
        own.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
        isolated.executeWithoutResult(status -> {
          int before = stock("P012");
          if (level != Connection.TRANSACTION_SERIALIZABLE) own.executeWithoutResult(inner -> set("P012", before + 1));
          show(stock("P012") - before);
        });
      });
    step("read only", () -> {
      TransactionTemplate reading = new TransactionTemplate(within.getTransactionManager());
      reading.setReadOnly(true);
      fails(() -> reading.executeWithoutResult(status -> set("P013", 5)));
    });
    step("locks", () -> within.executeWithoutResult(status -> {
      products.lock("P020");
      CompletableFuture.runAsync(() -> {
        within.executeWithoutResult(inner -> show(products.lockFree(List.of("P020", "P021")).stream().map(p -> p.sku).toList()));
        try {
          fails(() -> within.executeWithoutResult(inner -> products.lockNow("P020")));
          fails(() -> within.executeWithoutResult(inner -> {
            jdbc.execute("SET innodb_lock_wait_timeout = 1");
            try {
              set("P020", 5);
            } finally {
              jdbc.execute("SET innodb_lock_wait_timeout = DEFAULT");
            }
          }));
        } catch (Exception error) {
          throw new IllegalStateException(error);
        }
      }).join();
    }));
    step("deadlock", () -> {
      CyclicBarrier both = new CyclicBarrier(2);
      List<CompletableFuture<String>> done = new ArrayList<>();
      for (int i = 0; i < 2; i++) {
        String first = "P03" + i, second = "P03" + (1 - i);
        done.add(CompletableFuture.supplyAsync(() -> {
          try {
            within.executeWithoutResult(status -> {
              set(first, 1);
              try {
                both.await();
              } catch (Exception error) {
                throw new IllegalStateException(error);
              }
              set(second, 2);
            });
            return "done";
          } catch (Exception error) {
            return error.getClass().getSimpleName();
          }
        }));
      }
      show(done.stream().map(CompletableFuture::join).sorted().toList());
    });
    step("many at once", () -> {
      ExecutorService pool = Executors.newFixedThreadPool(6);
      for (int i = 0; i < 60; i++) pool.submit(() -> within.executeWithoutResult(status -> products.lock("P040").orElseThrow().stock += 1));
      pool.shutdown();
      pool.awaitTermination(60, TimeUnit.SECONDS);
      show(stock("P040"));
    });
  }

  void plain() {
    step("jdbc batch", () -> {
      int[] counts = jdbc.batchUpdate("INSERT INTO settings (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)", List.of(new Object[] {"a", "9"}, new Object[] {"b", "2"}, new Object[] {"c", null}));
      show(counts, jdbc.queryForList("SELECT * FROM settings ORDER BY name"));
      show(new NamedParameterJdbcTemplate(jdbc).queryForList("SELECT name FROM settings WHERE name IN (:names) OR value = :value ORDER BY 1", Map.of("names", List.of("a", "b"), "value", "2"), String.class));
    });
    step("simple insert", () -> {
      var insert = new SimpleJdbcInsert(jdbc).withTableName("products").usingGeneratedKeyColumns("id").usingColumns("sku", "title", "price");
      Number first = insert.executeAndReturnKey(Map.of("sku", "S1", "title", "t", "price", new BigDecimal("1.5")));
      Number second = insert.executeAndReturnKey(Map.of("sku", "S2", "title", "t", "price", 2));
      show(second.longValue() - first.longValue());
    });
    step("types", () -> jdbc.query("SELECT CAST(1 AS SIGNED) a, CAST(2 AS UNSIGNED) b, 1.50 c, CAST(1 AS DOUBLE) d, DATE '2024-01-02' e, TIMESTAMP '2024-01-02 03:04:05.678901' f, TIME '10:11:12.5' g, x'00ff' h, 'é' i, NULL j, true k, JSON_OBJECT('a', 1) l, b'101' m, CAST('x' AS BINARY) n, 18446744073709551615 o", rows -> {
      ResultSetMetaData meta = rows.getMetaData();
      for (int i = 1; i <= meta.getColumnCount(); i++) show(meta.getColumnLabel(i), meta.getColumnTypeName(i), meta.getColumnClassName(i), meta.getPrecision(i), meta.getScale(i), meta.isNullable(i), meta.isSigned(i), String.valueOf(rows.getString(i)));
    }));
    step("types of a table", () -> jdbc.query("SELECT * FROM products LIMIT 1", rows -> {
      ResultSetMetaData meta = rows.getMetaData();
      for (int i = 1; i <= meta.getColumnCount(); i++) show(meta.getColumnLabel(i), meta.getTableName(i), meta.getColumnTypeName(i), meta.getColumnClassName(i), meta.getPrecision(i), meta.getScale(i), meta.isNullable(i), meta.isAutoIncrement(i), meta.getColumnDisplaySize(i));
    }));
    step("server prepared", () -> {
      DataSourceUser.with(jdbc, "useServerPrepStmts=true&cachePrepStmts=true&rewriteBatchedStatements=true&useCursorFetch=true&defaultFetchSize=10", connection -> {
        try (PreparedStatement put = connection.prepareStatement("INSERT INTO products (sku, title, price, weight, opens, picture) VALUES (?, ?, ?, ?, ?, ?)", Statement.RETURN_GENERATED_KEYS)) {
          for (int i = 0; i < 25; i++) {
            put.setString(1, "SP" + i);
            put.setString(2, "prepared");
            put.setBigDecimal(3, new BigDecimal("1." + i));
            put.setDouble(4, i / 3.0);
            put.setObject(5, LocalTime.of(1, 2, i));
            put.setBytes(6, new byte[i]);
            put.addBatch();
          }
          show(Arrays.stream(put.executeBatch()).sum() != 0);
          int keys = 0;
          try (ResultSet made = put.getGeneratedKeys()) {
            while (made.next()) keys++;
          }
          show(keys);
        }
        try (PreparedStatement get = connection.prepareStatement("SELECT sku, price, weight, opens, LENGTH(picture) FROM products WHERE title = ? AND price > ? ORDER BY id")) {
          get.setString(1, "prepared");
          get.setDouble(2, 1.05);
          try (ResultSet rows = get.executeQuery()) {
            while (rows.next()) show(rows.getString(1), rows.getBigDecimal(2), rows.getDouble(3), rows.getObject(4, LocalTime.class), rows.getLong(5));
          }
        }
        connection.createStatement().executeUpdate("DELETE FROM products WHERE title = 'prepared'");
      });
    });
  }

  void metadata() {
    step("metadata", () -> {
      try (Connection connection = jdbc.getDataSource().getConnection()) {
        DatabaseMetaData meta = connection.getMetaData();
        String catalog = connection.getCatalog();
        print(meta.getTables(catalog, null, "%", new String[] {"TABLE", "VIEW"}), catalog, "TABLE_NAME", "TABLE_TYPE", "REMARKS");
        for (String table : List.of("customers", "products", "orders", "order_lines")) {
          print(meta.getColumns(catalog, null, table, "%"), catalog, "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "COLUMN_DEF", "CHAR_OCTET_LENGTH", "IS_AUTOINCREMENT", "IS_GENERATEDCOLUMN");
          print(meta.getPrimaryKeys(catalog, null, table), catalog, "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
          print(meta.getIndexInfo(catalog, null, table, false, true), catalog, "INDEX_NAME", "NON_UNIQUE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC");
          print(meta.getImportedKeys(catalog, null, table), catalog, "PKTABLE_NAME", "PKCOLUMN_NAME", "FKCOLUMN_NAME", "UPDATE_RULE", "DELETE_RULE", "FK_NAME", "PK_NAME");
          print(meta.getExportedKeys(catalog, null, table), catalog, "FKTABLE_NAME", "FKCOLUMN_NAME", "FK_NAME");
          print(meta.getBestRowIdentifier(catalog, null, table, DatabaseMetaData.bestRowSession, true), catalog, "COLUMN_NAME", "TYPE_NAME");
        }
        print(meta.getTypeInfo(), catalog, "TYPE_NAME", "DATA_TYPE", "PRECISION");
        show(meta.getDatabaseProductName(), meta.supportsSavepoints(), meta.getIdentifierQuoteString(), meta.getMaxColumnNameLength());
      }
    });
  }

  private static void print(ResultSet rows, String catalog, String... columns) throws SQLException {
    try (rows) {
      while (rows.next()) {
        List<String> values = new ArrayList<>();
        for (String column : columns) values.add(String.valueOf(rows.getString(column)).replace(catalog, "db"));
        show(values);
      }
    }
  }
}
