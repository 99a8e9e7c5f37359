package shop;

import jakarta.persistence.*;
import java.time.*;
import java.util.*;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.NaturalId;
import org.hibernate.type.SqlTypes;

/** A customer of the schema that Flyway makes. */
@Entity
@Table(name = "customers")
public class Customer {
  public enum Kind { PERSON, FIRM }

  @Embeddable
  public record Address(String street, String city) {}

  @Id @GeneratedValue(strategy = GenerationType.UUID) UUID id;
  @NaturalId @Column(nullable = false) String email;
  String name;
  @Enumerated(EnumType.STRING) Kind kind = Kind.PERSON;
  @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> settings;
  LocalDate born;
  @Column(precision = 6) Instant seen;
  boolean active = true;
  @Embedded Address address;
  @Version int version;
  @ElementCollection
  @CollectionTable(name = "customer_phones", joinColumns = @JoinColumn(name = "customer_id"))
  @Column(name = "phone")
  SortedSet<String> phones = new TreeSet<>();
  @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL)
  @OrderBy("id")
  List<Order> orders = new ArrayList<>();

  protected Customer() {}

  Customer(String email, String name) {
    this.email = email;
    this.name = name;
  }
}
