package shop;

import jakarta.persistence.*;
import java.time.Instant;
import java.util.*;

/** An order with its lines. */
@Entity
@Table(name = "orders")
public class Order {
  public enum State { NEW, PAID, SENT }

  @Embeddable
  public record LineId(Long orderId, int line) {}

  /** A line of an order. */
  @Entity(name = "Line")
  @Table(name = "order_lines")
  public static class Line {
    @EmbeddedId LineId id;
    @MapsId("orderId") @ManyToOne(fetch = FetchType.LAZY) @JoinColumn(name = "order_id") Order order;
    @ManyToOne(fetch = FetchType.LAZY) @JoinColumn(name = "product_id") Product product;
    int quantity;

    protected Line() {}

    Line(Order order, int line, Product product, int quantity) {
      this.id = new LineId(null, line);
      this.order = order;
      this.product = product;
      this.quantity = quantity;
    }
  }

  @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
  @ManyToOne(fetch = FetchType.LAZY, optional = false) Customer customer;
  @Enumerated(EnumType.STRING) State state = State.NEW;
  Instant placed;
  @Column(columnDefinition = "TEXT") String note;
  @Version long version;
  @OneToMany(mappedBy = "order", cascade = CascadeType.ALL, orphanRemoval = true)
  @OrderBy("id.line")
  List<Line> lines = new ArrayList<>();

  protected Order() {}

  Order(Customer customer, Instant placed) {
    this.customer = customer;
    this.placed = placed;
    customer.orders.add(this);
  }
}
