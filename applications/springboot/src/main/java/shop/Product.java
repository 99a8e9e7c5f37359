package shop;

import jakarta.persistence.*;
import java.math.BigDecimal;
import java.time.*;
import org.hibernate.annotations.Generated;

/** What is sold. */
@Entity
@Table(name = "products")
public class Product {
  @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
  String sku;
  String title;
  @Column(precision = 12, scale = 2) BigDecimal price;
  @Generated @Column(insertable = false, updatable = false) BigDecimal gross;
  int stock;
  Double weight;
  @Lob byte[] picture;
  @Lob String about;
  LocalTime opens;
  Float rating;
  @Column(insertable = false, updatable = false) Instant made;

  protected Product() {}

  Product(String sku, String title, BigDecimal price, int stock) {
    this.sku = sku;
    this.title = title;
    this.price = price;
    this.stock = stock;
  }
}
