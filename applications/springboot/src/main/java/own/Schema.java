package own;

import static shop.Shop.*;

import jakarta.persistence.*;
import java.math.BigDecimal;
import java.sql.*;
import java.time.*;
import java.util.*;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.Check;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.UpdateTimestamp;
import org.hibernate.cfg.Configuration;

/** The schema that Hibernate itself makes and changes. */
public class Schema {
  final String url;
  final String user;

  public Schema(String url, String user) {
    this.url = url;
    this.user = user;
  }

  @Entity(name = "Animal")
  @Table(name = "h_animals")
  @Inheritance(strategy = InheritanceType.JOINED)
  static class Animal {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "animals") @SequenceGenerator(name = "animals", allocationSize = 5) Long id;
    @Column(length = 60, nullable = false) String name;
    @ManyToOne(fetch = FetchType.LAZY) Animal mother;
    @OneToMany(mappedBy = "mother") Set<Animal> children = new HashSet<>();
    @ManyToMany @JoinTable(name = "h_animal_foods") Set<Food> foods = new HashSet<>();
  }

  @Entity(name = "Dog")
  @Table(name = "h_dogs")
  static class Dog extends Animal {
    boolean barks = true;
    Duration walk;
  }

  @Entity(name = "Cat")
  @Table(name = "h_cats", indexes = @Index(name = "cats_lives", columnList = "lives desc, colour"))
  static class Cat extends Animal {
    @Column(columnDefinition = "int default 9") Integer lives;
    @Enumerated(EnumType.STRING) Colour colour;
    @Enumerated Colour second;
  }

  enum Colour { BLACK, WHITE, RED }

  @Entity(name = "Food")
  @Table(name = "h_foods", uniqueConstraints = @UniqueConstraint(name = "foods_name", columnNames = {"name", "maker"}))
  @Inheritance(strategy = InheritanceType.SINGLE_TABLE)
  @DiscriminatorColumn(name = "kind", length = 10)
  static class Food {
    @Id UUID id = UUID.nameUUIDFromBytes(new byte[] {1});
    String name;
    @Column(length = 30) String maker;
    @Check(constraints = "price > 0") BigDecimal price = BigDecimal.ONE;
    @CreationTimestamp Instant made;
    @UpdateTimestamp OffsetDateTime changed;
    @Lob String recipe;
    @Column(length = 100000) String text;
    byte[] hash;
    Character grade;
    short small;
    byte tiny;
    float rate;
    @ElementCollection @CollectionTable(name = "h_parts") @MapKeyColumn(name = "part", length = 20) Map<String, Integer> parts = new TreeMap<>();
  }

  @Entity(name = "Meat")
  static class Meat extends Food {
    String animal;
  }

  SessionFactory factory(String mode) {
    Configuration configuration = new Configuration();
    for (Class<?> entity : List.of(Animal.class, Dog.class, Cat.class, Food.class, Meat.class)) configuration.addAnnotatedClass(entity);
    configuration.setProperty("hibernate.connection.url", url).setProperty("hibernate.connection.username", user).setProperty("hibernate.connection.password", "");
    configuration.setProperty("hibernate.hbm2ddl.auto", mode).setProperty("hibernate.jdbc.time_zone", "UTC");
    return configuration.buildSessionFactory();
  }

  public void all() {
    step("create", () -> factory("create").close());
    step("update", () -> factory("update").close());
    step("validate", () -> factory("validate").close());
    step("show", () -> {
      try (Connection connection = DriverManager.getConnection(url, user, ""); Statement statement = connection.createStatement()) {
        List<String> names = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery("SHOW TABLES LIKE 'h\\_%'")) {
          while (rows.next()) names.add(rows.getString(1));
        }
        for (String name : names)
          try (ResultSet rows = statement.executeQuery("SHOW CREATE TABLE " + name)) {
            rows.next();
            show(rows.getString(2));
          }
        statement.execute("ALTER TABLE h_cats DROP COLUMN lives");
        statement.execute("ALTER TABLE h_foods DROP INDEX foods_name");
      }
      factory("update").close();
      factory("validate").close();
    });
    step("use", () -> {
      try (SessionFactory factory = factory("none")) {
        factory.inTransaction(session -> {
          Food milk = new Food();
          milk.name = "milk";
          milk.parts.put("fat", 3);
          milk.parts.put("water", 90);
          Meat meat = new Meat();
          meat.id = UUID.nameUUIDFromBytes(new byte[] {2});
          meat.animal = "cow";
          meat.text = "x".repeat(90000);
          meat.hash = new byte[] {1, 2};
          meat.grade = 'A';
          session.persist(milk);
          session.persist(meat);
          Cat cat = new Cat();
          cat.name = "Tom";
          cat.lives = 7;
          cat.colour = Colour.RED;
          cat.second = Colour.WHITE;
          cat.foods.add(milk);
          session.persist(cat);
          for (int i = 0; i < 12; i++) {
            Dog dog = new Dog();
            dog.name = "Dog " + i;
            dog.walk = Duration.ofMinutes(i);
            dog.mother = i > 0 ? session.createQuery("from Dog order by id limit 1", Dog.class).getSingleResult() : null;
            dog.foods.add(meat);
            session.persist(dog);
          }
        });
        factory.inSession(session -> {
          show(session.createQuery("select a.id, a.name, type(a) from Animal a order by a.id", Object[].class).getResultList().stream().map(row -> row[0] + " " + row[1] + " " + ((Class<?>) row[2]).getSimpleName()).toList());
          show(session.createQuery("select c.lives, c.colour, c.second from Cat c", Object[].class).getResultList());
          show(session.createQuery("select f.name, length(f.text), f.hash, f.grade, f.made is not null, treat(f as Meat).animal from Food f order by f.grade", Object[].class).getResultList());
          show(session.createQuery("select a.name, size(a.children) from Animal a where a.children is not empty order by a.id", Object[].class).getResultList());
          show(session.createQuery("select key(p), value(p) from Food f join f.parts p order by 1", Object[].class).getResultList());
        });
        factory.inTransaction(session -> {
          show(session.createMutationQuery("update Dog d set d.barks = false, d.name = concat(d.name, '!') where d.walk > :w").setParameter("w", Duration.ofMinutes(8)).executeUpdate());
          show(session.createMutationQuery("delete from Dog d where d.mother is not null").executeUpdate());
          show(session.createQuery("select count(*) from Animal", Long.class).getSingleResult());
        });
        fails(() -> factory.inTransaction(session -> session.createNativeMutationQuery("INSERT INTO h_foods (kind, id, price, rate, small, tiny) VALUES ('Food', 0x33, 0, 0, 0, 0)").executeUpdate()));
      }
    });
    step("drop", () -> {
      factory("create-drop").close();
      try (Connection connection = DriverManager.getConnection(url, user, ""); ResultSet rows = connection.createStatement().executeQuery("SHOW TABLES LIKE 'h\\_%'")) {
        show(rows.next());
      }
    });
  }
}
