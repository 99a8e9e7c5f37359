// A small shop in Drizzle: drizzle-kit's push, pull and migrations, queries, relations, transactions.
const { drizzle } = require('drizzle-orm/mysql2');
const { migrate } = require('drizzle-orm/mysql2/migrator');
const { sql, eq, and, or, gt, lt, like, between, inArray, isNull, desc, asc, count, sum, avg, max, countDistinct, exists, notExists } = require('drizzle-orm');
const { union, unionAll, intersect, except, alias } = require('drizzle-orm/mysql-core');
const mysql = require('mysql2/promise');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const schema = require('./schema');
const { show, step, message, failing } = require('steps');

const { customers, products, orders, lines, cheap } = schema;
const [host, port, user, database] = process.argv.slice(2);
let db, pool;

const fails = failing((error) => {
  const from = error.cause || error;
  return [error.name, from.code, from.errno, from.sqlState, message(from.sqlMessage || '')];
});

// Runs drizzle-kit with this program's schema.
function kit(command, schemaFile = './schema.js') {
  const config = { dialect: 'mysql', schema: schemaFile, out: './out', dbCredentials: { url: `mysql://${user}@${host}:${port}/${database}` }, verbose: true, strict: false };
  fs.writeFileSync('drizzle.config.json', JSON.stringify(config));
  const out = execFileSync('node', ['node_modules/drizzle-kit/bin.cjs', ...command, '--config=drizzle.config.json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  return out.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '').replace(/[⠀-⣿◐-◓|/\\-]\s*(Pulling|Fetching)?/gu, '').split('\n').map((l) => l.trim())
    .filter((l) => /^(CREATE|ALTER|DROP|INSERT|No changes|.*Changes applied|.*pulled|TRUNCATE|Error)/i.test(l));
}

async function definitions() {
  const [names] = await pool.query('SHOW TABLES');
  for (const name of names.map((row) => Object.values(row)[0]).sort()) {
    if (name.startsWith('__')) continue;
    const [[row]] = await pool.query(`SHOW CREATE TABLE \`${name}\``);
    show(row['Create Table'] || row['Create View'].replace(/DEFINER=\S+/, '').replaceAll(`\`${database}\`.`, ''));
  }
}

async function schemas() {
  fs.rmSync('out', { recursive: true, force: true });
  await step('push', async () => { show(kit(['push', '--force'])); await definitions(); });
  await step('push again', async () => show(kit(['push', '--force'])));
  await step('pull', async () => {
    kit(['pull']);
    show(fs.readFileSync('out/schema.ts', 'utf8').split('\n').filter((line) => !line.startsWith('import')));
    fs.rmSync('out', { recursive: true });
  });
  await step('push changes', async () => {
    const changed = fs.readFileSync('schema.js', 'utf8').replace("['new', 'paid', 'sent']", "['new', 'paid', 'sent', 'lost']").replace("note: text('note'),", "note: varchar('note', { length: 300 }).default('none'), extra: int('extra'),")
      .replace(".on(t.name, t.kind)", '.on(t.kind)');
    fs.writeFileSync('changed.js', changed);
    show(kit(['push', '--force'], './changed.js'));
    await definitions();
    show(kit(['push', '--force']));
  });
  await step('drop all', async () => {
    await pool.query('DROP VIEW cheap');
    await pool.query('DROP TABLE `lines`, orders, products, customers');
  });
  await step('generate and migrate', async () => {
    kit(['generate', '--name=first']);
    show(fs.readFileSync('out/0000_first.sql', 'utf8').split('\n'));
    await migrate(db, { migrationsFolder: 'out' });
    await migrate(db, { migrationsFolder: 'out' });
    const [rows] = await pool.query('SELECT COUNT(*) n FROM __drizzle_migrations');
    show(rows);
    await definitions();
  });
}

async function rows() {
  await step('insert', async () => {
    const [{ id }] = await db.insert(customers).values({ email: 'ann@example.org', name: 'Ann É 🙂', settings: { theme: 'dark', sizes: [1, 2] }, born: '1990-02-28', seen: '2024-05-06 07:08:09.123456', token: '6c84fb90-12c4-11e1-840d-7b25c5ee775a' }).$returningId();
    await db.insert(customers).values([{ email: 'bob@example.org', name: 'Bob', kind: 'firm', active: false, token: 'x' }, { email: 'cy@example.org', name: 'Cy', settings: [], token: 'y' }]);
    const [{ made, ...ann }] = await db.select().from(customers).where(eq(customers.id, id));
    show([made instanceof Date, ann]);
    await db.insert(products).values(Array.from({ length: 200 }, (_, i) => ({ sku: `P${String(i).padStart(3, '0')}`, title: `Product ${i % 20}`, price: (i * 1.25).toFixed(2), stock: i, weight: i / 7,
      views: 9007199254740993n + BigInt(i), hash: `h${String(i).padStart(3, '0')}`, blob: `b${i}`, opens: '10:11:12.345', since: 2000 + (i % 20), about: 'x'.repeat(i) })));
    show(await db.select().from(products).where(eq(products.sku, 'P007')));
    for (const n of [1, 2, 3]) {
      const [made2] = await db.insert(orders).values({ customer: id, note: `order ${n}` });
      await db.insert(lines).values(Array.from({ length: n }, (_, j) => ({ order: made2.insertId, product: `P00${j + 1}`, quantity: n * j + 1 })));
    }
  });
  await step('relations', async () => {
    show(await db.query.customers.findMany({ columns: { id: true, name: true }, orderBy: asc(customers.id), with: { orders: { orderBy: asc(orders.id), with: { lines: { orderBy: asc(lines.product), columns: { quantity: true }, with: { what: { columns: { sku: true, price: true, gross: true } } } } } } } }));
    show(await db.query.orders.findFirst({ where: eq(orders.id, 2), with: { by: { columns: { email: true } } }, extras: { loud: sql`upper(${orders.note})`.as('loud') } }));
  });
  await step('select', async () => {
    show(await db.select({ sku: products.sku, price: products.price, short: products.short }).from(products).where(and(like(products.title, '%1'), or(between(products.stock, 10, 90), inArray(products.sku, ['P101'])))).orderBy(desc(products.price)).limit(3).offset(1));
    show(await db.select({ title: products.title, n: count(), mean: avg(products.price), top: max(products.price), total: sum(products.stock) }).from(products).groupBy(products.title).having(({ mean }) => gt(mean, 130)).orderBy(products.title));
    show(await db.select({ name: customers.name, n: countDistinct(orders.id) }).from(customers).leftJoin(orders, eq(orders.customer, customers.id)).groupBy(customers.id).orderBy(customers.id));
    show(await db.selectDistinct({ since: products.since }).from(products).orderBy(products.since).limit(3));
    const few = db.$with('few').as(db.select({ title: products.title, n: count().as('n') }).from(products).where(lt(products.stock, 30)).groupBy(products.title));
    show(await db.with(few).select().from(few).orderBy(few.title).limit(3));
    const sub = db.select({ title: products.title, top: max(products.price).as('top') }).from(products).groupBy(products.title).as('sub');
    show(await db.select({ sku: products.sku, top: sub.top }).from(products).innerJoin(sub, and(eq(sub.title, products.title), eq(sub.top, products.price))).orderBy(products.sku).limit(3));
    show(await db.select({ id: customers.id }).from(customers).where(notExists(db.select({ one: sql`1` }).from(orders).where(eq(orders.customer, customers.id)))).orderBy(customers.id));
    show(await db.select({ sku: products.sku, n: sql`row_number() over (partition by ${products.title} order by ${products.price} desc)`.mapWith(Number) }).from(products).orderBy(products.title, products.sku).limit(4));
    show(await db.select().from(cheap).orderBy(cheap.sku).limit(2));
    const other = alias(customers, 'other');
    show(await db.select({ a: customers.id, b: other.id }).from(customers).crossJoin(other).where(lt(customers.id, other.id)).orderBy(customers.id, other.id));
    const lateral = db.select({ id: orders.id, note: orders.note }).from(orders).where(eq(orders.customer, customers.id)).orderBy(desc(orders.id)).limit(1).as('latest');
    show(await db.select({ name: customers.name, note: lateral.note }).from(customers).leftJoinLateral(lateral, sql`true`).orderBy(customers.id));
    show(await db.$count(products, gt(products.stock, 100)));
  });
  await step('sets', async () => {
    const a = db.select({ sku: products.sku }).from(products).where(lt(products.stock, 4));
    const b = db.select({ sku: products.sku }).from(products).where(between(products.stock, 2, 5));
    for (const combine of [union, unionAll, intersect, except]) show(await combine(a, b).orderBy(sql`sku`));
  });
  await step('json', async () => {
    show(await db.select({ theme: sql`${customers.settings} ->> '$.theme'` }).from(customers).where(sql`json_extract(${customers.settings}, '$.theme') = 'dark'`));
    await db.update(customers).set({ settings: sql`json_set(${customers.settings}, '$.theme', 'blue')` }).where(eq(customers.id, 1));
    show((await db.select().from(customers).where(eq(customers.id, 1)))[0].settings);
  });
  await step('upsert', async () => {
    const [one] = await db.insert(products).values({ sku: 'P001', title: 'renamed', price: '3.50' }).onDuplicateKeyUpdate({ set: { title: 'renamed', stock: sql`${products.stock} + 5` } });
    const [two] = await db.insert(customers).ignore().values({ email: 'bob@example.org', name: 'again', token: 'z' });
    show([one.affectedRows, two.affectedRows, await db.select({ title: products.title, stock: products.stock }).from(products).where(eq(products.sku, 'P001'))]);
  });
  await step('change', async () => {
    const [one] = await db.update(products).set({ stock: sql`${products.stock} + 1` }).where(lt(products.stock, 5)).orderBy(products.sku).limit(3);
    const [two] = await db.delete(products).where(like(products.sku, 'P19%')).limit(4);
    const [three] = await db.delete(orders).where(eq(orders.id, 3));
    show([one.affectedRows, one.changedRows, two.affectedRows, three.affectedRows, await db.$count(lines)]);
  });
  await step('prepared', async () => {
    const query = db.select({ sku: products.sku }).from(products).where(and(gt(products.price, sql.placeholder('price')), isNull(products.grade).if(false))).orderBy(products.sku).limit(sql.placeholder('limit')).prepare();
    show([await query.execute({ price: '10.5', limit: 2 }), await query.execute({ price: '100', limit: 3 })]);
    let n = 0;
    for await (const row of await db.select().from(products).orderBy(products.sku).iterator()) n += row.stock;
    show(n);
  });
}

async function errors() {
  await step('unique', () => fails(() => db.insert(customers).values({ email: 'ann@example.org', name: 'x' })));
  await step('no parent', () => fails(() => db.insert(orders).values({ customer: 4711 })));
  await step('has children', () => fails(() => db.delete(customers).where(eq(customers.id, 1))));
  await step('check', () => fails(() => db.insert(customers).values({ email: 'x', name: '' })));
  await step('too long', () => fails(() => db.insert(products).values({ sku: 'x'.repeat(21), title: 'x', price: '1' })));
  await step('out of range', () => fails(() => db.update(products).set({ stock: -1 }).where(eq(products.sku, 'P001'))));
  await step('enum', () => fails(() => db.execute(sql`update orders set state = 'x'`)));
  await step('syntax', () => fails(() => db.execute(sql`selec 1`)));
}

async function transactions() {
  const stock = async (t, sku) => (await t.select({ stock: products.stock }).from(products).where(eq(products.sku, sku)))[0].stock;
  const set = (t, sku, n) => t.update(products).set({ stock: n }).where(eq(products.sku, sku));
  await step('rollback and savepoints', async () => {
    await db.transaction(async (t) => { await set(t, 'P010', 2000); t.rollback(); }).catch((e) => show(e.message));
    await db.transaction(async (t) => {
      await set(t, 'P011', 1);
      await t.transaction(async (inner) => { await set(inner, 'P011', 2); inner.rollback(); }).catch((e) => show(e.message));
      show(await stock(t, 'P011'));
    }, { isolationLevel: 'read committed', accessMode: 'read write', withConsistentSnapshot: false });
    show([await stock(db, 'P010'), await stock(db, 'P011')]);
    await fails(() => db.transaction((t) => set(t, 'P010', 1), { accessMode: 'read only', isolationLevel: 'repeatable read', withConsistentSnapshot: true }));
  });
  await step('locks', () => db.transaction(async (first) => {
    await first.select().from(products).where(eq(products.sku, 'P020')).for('update');
    await db.transaction(async (second) => {
      show(await second.select({ sku: products.sku }).from(products).where(inArray(products.sku, ['P020', 'P021'])).for('update', { skipLocked: true }));
      await fails(() => second.select().from(products).where(eq(products.sku, 'P020')).for('share', { noWait: true }));
    });
  }));
  await step('many at once', async () => {
    await Promise.all(Array.from({ length: 30 }, () => db.transaction(async (t) => {
      const [row] = await t.select().from(products).where(eq(products.sku, 'P040')).for('update');
      await set(t, 'P040', row.stock + 1);
    })));
    show(await stock(db, 'P040'));
  });
}

(async () => {
  pool = mysql.createPool({ host, port: Number(port), user, database, connectionLimit: 5, timezone: 'Z', supportBigNumbers: true });
  db = drizzle(pool, { schema, mode: 'default' });
  for (const part of [schemas, rows, errors, transactions]) await part();
  await pool.end();
})();
