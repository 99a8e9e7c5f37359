CREATE TABLE products (
  id BIGINT AUTO_INCREMENT PRIMARY KEY,
  sku VARCHAR(20) NOT NULL UNIQUE,
  title VARCHAR(255) NOT NULL,
  price DECIMAL(12,2) NOT NULL,
  gross DECIMAL(14,4) GENERATED ALWAYS AS (price * 1.19) STORED,
  stock INT UNSIGNED NOT NULL DEFAULT 0,
  weight DOUBLE, picture LONGBLOB, about LONGTEXT, opens TIME(3), rating FLOAT,
  made TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  CONSTRAINT products_price CHECK (price >= 0)
);
CREATE TABLE orders (
  id BIGINT AUTO_INCREMENT PRIMARY KEY, customer_id BINARY(16) NOT NULL,
  state VARCHAR(20) NOT NULL, placed DATETIME(6) NOT NULL,
  version BIGINT NOT NULL DEFAULT 0,
  KEY orders_placed (placed DESC, state),
  CONSTRAINT orders_customer FOREIGN KEY (customer_id) REFERENCES customers (id)
);
CREATE TABLE order_lines (
  order_id BIGINT NOT NULL, line INT NOT NULL, product_id BIGINT NOT NULL, quantity INT NOT NULL,
  PRIMARY KEY (order_id, line),
  CONSTRAINT lines_order FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT lines_product FOREIGN KEY (product_id) REFERENCES products (id) ON UPDATE CASCADE
);
CREATE OR REPLACE VIEW turnover AS
  SELECT o.customer_id, COUNT(DISTINCT o.id) AS orders, SUM(l.quantity * p.price) AS total
  FROM orders o JOIN order_lines l ON l.order_id = o.id JOIN products p ON p.id = l.product_id GROUP BY o.customer_id;
