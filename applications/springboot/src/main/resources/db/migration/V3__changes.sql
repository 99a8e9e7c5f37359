ALTER TABLE products ADD COLUMN tags SET('new','sale','old') NULL AFTER title, ADD INDEX products_lower ((LOWER(title)));
ALTER TABLE orders MODIFY COLUMN state ENUM('NEW','PAID','SENT') NOT NULL DEFAULT 'NEW', ADD COLUMN note TEXT;
-- A placeholder of Flyway, and several statements.
INSERT INTO products (sku, title, price) VALUES ('FIRST', 'in ${flyway:defaultSchema}' , 1.00);
UPDATE products SET title = 'first' WHERE sku = 'FIRST';
