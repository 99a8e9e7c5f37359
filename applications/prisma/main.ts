// A small shop in Prisma, with its client that needs no engine. Prisma Migrate's engine is no part of
// its packages: migration.sql is what it writes for the schema.
import { readFileSync } from 'node:fs';
import { PrismaMariaDb } from '@prisma/adapter-mariadb';
import { PrismaClient, Prisma } from './generated/client';

const [host, port, user, database] = process.argv.slice(2);
const db = new PrismaClient({ adapter: new PrismaMariaDb({ host, port: Number(port), user, database, connectionLimit: 5, allowPublicKeyRetrieval: true }) });

const plain = (_: string, value: any) => (typeof value === 'bigint' ? `${value}n` : value instanceof Uint8Array ? [...value] : value);
const show = (value: any) => console.log(JSON.stringify(value, plain));

async function step(name: string, run: () => Promise<any>) {
  try {
    await run();
    console.log(`step ${name} ok`);
  } catch (error: any) {
    console.log(`step ${name} FAILED ${error.name}: ${String(error.message).replace(/\s+/g, ' ').slice(-400)}`);
  }
}

async function fails(run: () => Promise<any>) {
  try {
    await run();
  } catch (error: any) {
    const meta = error.meta || {};
    const cause = meta.driverAdapterError?.cause;
    show([error.name, error.code, meta.modelName, meta.target, cause?.kind, cause?.originalCode, String(cause?.originalMessage || '').replace(/ \(the lock is held by: .*\)$/s, '').replace(/^\(conn:[^)]*\) */, '')]);
    return;
  }
  throw new Error('there was no error');
}

async function rows() {
  await step('migrate', async () => {
    for (const statement of readFileSync('prisma/migration.sql', 'utf8').split(/;\n/).filter((s) => s.trim())) await db.$executeRawUnsafe(statement);
  });
  await step('create', async () => {
    const ann = await db.customer.create({ data: { email: 'ann@example.org', name: 'Ann É 🙂', settings: { theme: 'dark', sizes: [1, 2] }, born: new Date('1990-02-28'), seen: new Date('2024-05-06T07:08:09.123Z'), token: '6c84fb90-12c4-11e1-840d-7b25c5ee775a' } });
    const { made, changed, ...rest } = ann;
    show([rest, made instanceof Date, changed instanceof Date]);
    show(await db.customer.createMany({ data: [{ email: 'bob@example.org', name: 'Bob', kind: 'FIRM', active: false, bossId: ann.id }, { email: 'cy@example.org', name: 'Cy', settings: [], bossId: ann.id }] }));
    show(await db.product.createMany({ data: Array.from({ length: 200 }, (_, i) => ({ sku: `P${String(i).padStart(3, '0')}`, title: `Product ${i % 20}`, price: (i * 1.25).toFixed(2), stock: i, weight: i / 7, picture: new Uint8Array([0, i, 255]), views: 9007199254740993n + BigInt(i), opens: new Date('1970-01-01T10:11:12Z'), about: 'x'.repeat(i) })) }));
    show(await db.product.findUnique({ where: { sku: 'P007' } }));
  });
  await step('nested', async () => {
    for (const n of [1, 2, 3]) {
      show(await db.order.create({ data: { customer: { connect: { email: 'ann@example.org' } }, lines: { create: Array.from({ length: n }, (_, j) => ({ quantity: n * (j + 1), product: { connect: { sku: `P00${j + 1}` } } })) } }, include: { lines: { orderBy: { productSku: 'asc' } } } }));
    }
    show(await db.product.update({ where: { sku: 'P001' }, data: { tags: { create: [{ word: 'red' }, { word: 'dark' }] } }, select: { tags: { orderBy: { word: 'asc' } } } }));
    show(await db.product.update({ where: { sku: 'P002' }, data: { tags: { connectOrCreate: [{ where: { word: 'red' }, create: { word: 'red' } }, { where: { word: 'new' }, create: { word: 'new' } }] } }, select: { tags: { orderBy: { word: 'asc' } } } }));
    show(await db.product.update({ where: { sku: 'P001' }, data: { tags: { disconnect: { word: 'dark' } } }, select: { _count: true } }));
  });
  await step('read', async () => {
    show(await db.customer.findMany({ orderBy: { id: 'asc' }, select: { name: true, boss: { select: { name: true } }, _count: { select: { orders: true, staff: true } }, orders: { orderBy: { id: 'desc' }, take: 2, select: { id: true, lines: { orderBy: { productSku: 'asc' }, select: { quantity: true, product: { select: { price: true } } } } } } } }));
    show(await db.product.findMany({ where: { title: { endsWith: '1' }, OR: [{ stock: { gte: 10, lte: 90 } }, { sku: { in: ['P101'] } }], NOT: { weight: null } }, orderBy: [{ price: 'desc' }, { sku: 'asc' }], skip: 1, take: 3, select: { sku: true, price: true } }));
    show(await db.product.findMany({ where: { tags: { some: { word: 'red' } } }, select: { sku: true }, orderBy: { sku: 'asc' } }));
    show(await db.customer.findMany({ where: { orders: { none: {} }, staff: { every: { active: true } } }, select: { id: true }, orderBy: { id: 'asc' } }));
    show(await db.product.findMany({ cursor: { sku: 'P010' }, skip: 1, take: 2, orderBy: { sku: 'asc' }, select: { sku: true } }));
    show(await db.product.findMany({ distinct: ['title'], orderBy: { title: 'asc' }, take: 3, select: { title: true } }));
    show([await db.product.count({ where: { price: { gt: 100 } } }), await db.product.findFirst({ where: { title: { contains: 'product 19' } }, orderBy: { stock: 'desc' }, select: { sku: true } })]);
  });
  await step('aggregates', async () => {
    show(await db.product.aggregate({ _count: true, _avg: { stock: true }, _sum: { stock: true, price: true }, _min: { title: true, views: true }, _max: { weight: true } }));
    show(await db.product.groupBy({ by: ['title'], _count: { _all: true }, _sum: { price: true }, having: { price: { _avg: { gt: 130 } } }, orderBy: { title: 'asc' } }));
  });
  await step('json', async () => {
    show(await db.customer.findMany({ where: { settings: { path: '$.theme', equals: 'dark' } }, select: { name: true } }));
    show(await db.customer.findMany({ where: { settings: { path: '$.sizes', array_contains: 2 } }, select: { name: true } }));
    show(await db.customer.findMany({ where: { settings: { equals: Prisma.DbNull } }, select: { name: true } }));
    show((await db.customer.update({ where: { id: 1 }, data: { settings: { theme: 'blue' } } })).settings);
  });
  await step('change', async () => {
    show(await db.product.updateMany({ where: { stock: { lt: 5 } }, data: { stock: { increment: 1 } } }));
    show((await db.product.update({ where: { sku: 'P004' }, data: { price: { multiply: 2 }, views: { decrement: 3 }, title: 'four' } })).price);
    show(await db.product.deleteMany({ where: { sku: { startsWith: 'P19' } } }));
    show(await db.product.upsert({ where: { sku: 'P001' }, create: { sku: 'P001', title: 'x', price: 1 }, update: { title: 'renamed' }, select: { title: true } }));
    show(await db.product.upsert({ where: { sku: 'NEW' }, create: { sku: 'NEW', title: 'new', price: '4.5' }, update: {}, select: { title: true, price: true } }));
    show(await db.tag.createMany({ data: [{ word: 'red' }, { word: 'green' }], skipDuplicates: true }));
    show([await db.order.delete({ where: { id: 3 } }), await db.line.count()]);
  });
  await step('raw', async () => {
    show(await db.$queryRaw`SELECT sku, price, ROW_NUMBER() OVER (PARTITION BY title ORDER BY price DESC) AS n, JSON_OBJECT('a', stock) AS j FROM Product WHERE sku IN (${Prisma.join(['P005', 'P006'])}) ORDER BY sku`);
    show(await db.$executeRaw`UPDATE Product SET stock = stock + ${5} WHERE sku = ${'P006'}`);
  });
}

async function errors() {
  await step('unique', () => fails(() => db.customer.create({ data: { email: 'ann@example.org', name: 'x' } })));
  await step('no parent', () => fails(() => db.order.create({ data: { customerId: 4711 } })));
  await step('has children', () => fails(() => db.customer.delete({ where: { id: 1 } })));
  await step('too long', () => fails(() => db.tag.create({ data: { word: 'x'.repeat(31) } })));
  await step('out of range', () => fails(() => db.product.update({ where: { sku: 'P001' }, data: { stock: -1 } })));
  await step('not found', () => fails(() => db.product.delete({ where: { sku: 'nothing' } })));
  await step('no table', () => fails(() => db.$queryRawUnsafe('SELECT * FROM nowhere')));
  await step('syntax', () => fails(() => db.$queryRawUnsafe('SELEC 1')));
}

async function transactions() {
  const stock = async (t: any, sku: string) => (await t.product.findUniqueOrThrow({ where: { sku } })).stock;
  const set = (t: any, sku: string, n: number) => t.product.update({ where: { sku }, data: { stock: n } });
  await step('several', async () => {
    show((await db.$transaction([db.product.count(), set(db, 'P010', 77), db.product.findMany({ where: { stock: 77 }, select: { sku: true }, orderBy: { sku: 'asc' } })]))[2]);
    await fails(() => db.$transaction([set(db, 'P010', 88), db.tag.create({ data: { word: 'red' } })]));
    show(await stock(db, 'P010'));
  });
  await step('interactive', async () => {
    await db.$transaction(async (t) => { await set(t, 'P011', 2000); show(await stock(t, 'P011')); throw new Error('undo'); }).catch((e) => show(e.message));
    show(await stock(db, 'P011'));
  });
  for (const level of ['ReadUncommitted', 'ReadCommitted', 'RepeatableRead', 'Serializable'] as const) {
    await step(`isolation ${level}`, () => db.$transaction(async (t) => {
      const before = await stock(t, 'P012');
      if (level !== 'Serializable') await db.product.update({ where: { sku: 'P012' }, data: { stock: { increment: 1 } } });
      show((await stock(t, 'P012')) - before);
    }, { isolationLevel: level }));
  }
  await step('locks', () => db.$transaction(async (first) => {
    await first.$queryRaw`SELECT sku FROM Product WHERE sku = 'P020' FOR UPDATE`;
    await db.$transaction(async (second) => {
      show(await second.$queryRaw`SELECT sku FROM Product WHERE sku IN ('P020', 'P021') FOR UPDATE SKIP LOCKED`);
      await fails(() => second.$queryRaw`SELECT sku FROM Product WHERE sku = 'P020' FOR SHARE NOWAIT`);
    });
  }));
  await step('many at once', async () => {
    await Promise.all(Array.from({ length: 30 }, () => db.product.update({ where: { sku: 'P040' }, data: { stock: { increment: 1 } } })));
    show(await stock(db, 'P040'));
  });
}

(async () => {
  for (const part of [rows, errors, transactions]) await part();
  await db.$disconnect();
})();
