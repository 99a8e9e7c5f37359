CREATE TABLE customers (
  id BINARY(16) NOT NULL PRIMARY KEY,
  email VARCHAR(100) NOT NULL,
  name VARCHAR(200) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL,
  kind ENUM('FIRM','PERSON') NOT NULL DEFAULT 'PERSON',
  settings JSON,
  born DATE,
  seen DATETIME(6),
  active BIT(1) NOT NULL DEFAULT b'1',
  street VARCHAR(100), city VARCHAR(100),
  version INT NOT NULL DEFAULT 0,
  UNIQUE KEY customers_email (email),
  KEY customers_city (city(20), name(10))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='who buys';
CREATE TABLE customer_phones (
  customer_id BINARY(16) NOT NULL, phone VARCHAR(40) NOT NULL,
  PRIMARY KEY (customer_id, phone),
  CONSTRAINT phones_customer FOREIGN KEY (customer_id) REFERENCES customers (id) ON DELETE CASCADE
);
