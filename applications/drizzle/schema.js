// The tables of a small shop, as drizzle-kit pushes them.
const { mysqlTable, mysqlView, int, bigint, varchar, text, decimal, double, boolean, json, mysqlEnum, datetime, timestamp, date, time,
  year, binary, varbinary, serial, tinyint, char, index, uniqueIndex, primaryKey, foreignKey, check } = require('drizzle-orm/mysql-core');
const { sql, relations } = require('drizzle-orm');

const customers = mysqlTable('customers', {
  id: int('id').autoincrement().primaryKey(),
  email: varchar('email', { length: 100 }).notNull().unique('customers_email'),
  name: varchar('name', { length: 200 }).notNull(),
  kind: mysqlEnum('kind', ['person', 'firm']).default('person').notNull(),
  settings: json('settings'),
  born: date('born', { mode: 'string' }),
  seen: datetime('seen', { mode: 'string', fsp: 6 }),
  active: boolean('active').default(true),
  token: char('token', { length: 36 }).default(sql`(uuid())`),
  made: timestamp('made').default(sql`CURRENT_TIMESTAMP`).onUpdateNow(),
}, (t) => [index('customers_name').on(t.name, t.kind), check('customers_named', sql`${t.name} <> ''`)]);
const products = mysqlTable('products', {
  sku: varchar('sku', { length: 20 }).primaryKey(),
  title: varchar('title', { length: 255 }).notNull(),
  price: decimal('price', { precision: 12, scale: 2 }).notNull(),
  gross: decimal('gross', { precision: 14, scale: 4 }).generatedAlwaysAs(sql`(\`price\` * 1.19)`, { mode: 'stored' }),
  short: varchar('short', { length: 5 }).generatedAlwaysAs(sql`(left(\`title\`, 5))`, { mode: 'virtual' }),
  stock: int('stock', { unsigned: true }).default(0).notNull(),
  weight: double('weight'),
  views: bigint('views', { mode: 'bigint', unsigned: true }).default(sql`0`),
  hash: binary('hash', { length: 4 }),
  blob: varbinary('blob_', { length: 50 }),
  opens: time('opens', { fsp: 3 }),
  since: year('since'),
  grade: tinyint('grade').default(1),
  about: text('about'),
}, (t) => [uniqueIndex('products_title').on(t.title, t.sku)]);
const orders = mysqlTable('orders', {
  id: serial('id').primaryKey(),
  customer: int('customer').notNull().references(() => customers.id, { onDelete: 'restrict', onUpdate: 'cascade' }),
  state: mysqlEnum('state', ['new', 'paid', 'sent']).default('new'),
  note: text('note'),
});
const lines = mysqlTable('lines', {
  order: bigint('order_', { mode: 'number', unsigned: true }).notNull(),
  product: varchar('product', { length: 20 }).notNull().references(() => products.sku),
  quantity: int('quantity').notNull(),
}, (t) => [primaryKey({ columns: [t.order, t.product] }),
  foreignKey({ name: 'lines_order', columns: [t.order], foreignColumns: [orders.id] }).onDelete('cascade')]);
const cheap = mysqlView('cheap').as((q) => q.select({ sku: products.sku, price: products.price }).from(products).where(sql`${products.price} < 10`));
const customersRelations = relations(customers, ({ many }) => ({ orders: many(orders) }));
const ordersRelations = relations(orders, ({ one, many }) => ({ by: one(customers, { fields: [orders.customer], references: [customers.id] }), lines: many(lines) }));
const linesRelations = relations(lines, ({ one }) => ({ of: one(orders, { fields: [lines.order], references: [orders.id] }), what: one(products, { fields: [lines.product], references: [products.sku] }) }));

module.exports = { customers, products, orders, lines, cheap, customersRelations, ordersRelations, linesRelations };
