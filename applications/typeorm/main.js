// A library of books in TypeORM: entities with relations, migrations, transactions, locks, changes
// of the schema.
require('reflect-metadata');
const { DataSource, EntitySchema, In, Between, Like, IsNull, MoreThan, Not, Raw, Table,
  TableColumn, TableForeignKey, TableIndex, TableUnique } = require('typeorm');
const { show, step, message, failing } = require('steps');

const [host, port, user, database] = process.argv.slice(2);

// The library's class of an error, and the server's code.
const fails = failing((error) => {
  const from = error.driverError || {};
  return [error.name, from.code, from.errno, from.sqlState, message(from.sqlMessage || error.message)];
});

const id = { type: 'int', primary: true, generated: true };
const Author = new EntitySchema({
  name: 'Author', tableName: 'authors',
  columns: {
    id,
    key: { type: 'varchar', length: 36, generated: 'uuid', unique: true },
    name: { type: 'varchar', length: 100, charset: 'utf8mb4', collation: 'utf8mb4_unicode_ci' },
    born: { type: 'date', nullable: true },
    kind: { type: 'enum', enum: ['person', 'group'], default: 'person' },
    genres: { type: 'set', enum: ['crime', 'poetry', 'drama'], nullable: true },
    profile: { type: 'json', nullable: true },
    active: { type: 'boolean', default: true },
    created: { type: 'datetime', precision: 6, createDate: true },
    version: { type: 'int', version: true },
  },
  relations: { books: { type: 'one-to-many', target: 'Book', inverseSide: 'author', cascade: true } },
});
const Book = new EntitySchema({
  name: 'Book', tableName: 'books',
  columns: {
    id: { type: 'bigint', unsigned: true, primary: true, generated: true },
    title: { type: 'varchar', length: 200, comment: 'as printed' },
    isbn: { type: 'char', length: 13, nullable: true },
    price: { type: 'decimal', precision: 10, scale: 2, default: 0 },
    tax: { type: 'decimal', precision: 12, scale: 4, generatedType: 'STORED', asExpression: 'price * 0.07' },
    pages: { type: 'smallint', unsigned: true, nullable: true },
    weight: { type: 'double', nullable: true },
    cover: { type: 'blob', nullable: true },
    text: { type: 'mediumtext', nullable: true },
    lent: { type: 'timestamp', precision: 6, nullable: true },
    year: { type: 'year', nullable: true },
    opens: { type: 'time', precision: 3, nullable: true },
    flag: { type: 'tinyint', default: 0 },
    removed: { type: 'datetime', precision: 6, deleteDate: true, nullable: true },
  },
  relations: {
    author: { type: 'many-to-one', target: 'Author', inverseSide: 'books', nullable: false, onDelete: 'RESTRICT', joinColumn: { name: 'author_id' } },
    tags: { type: 'many-to-many', target: 'Tag', joinTable: { name: 'book_tags' }, cascade: ['insert'] },
    details: { type: 'one-to-one', target: 'Details', inverseSide: 'book', cascade: true },
  },
  indices: [{ name: 'books_title_price', columns: ['title', 'price'] }],
  uniques: [{ name: 'books_isbn', columns: ['isbn'] }],
});
const Details = new EntitySchema({
  name: 'Details', tableName: 'details',
  columns: { id, note: { type: 'text' } },
  relations: { book: { type: 'one-to-one', target: 'Book', inverseSide: 'details', joinColumn: true, onDelete: 'CASCADE' } },
});
const Tag = new EntitySchema({
  name: 'Tag', tableName: 'tags',
  columns: { word: { type: 'varchar', length: 30, primary: true }, rank: { type: 'int', default: 0 } },
});
const Category = new EntitySchema({
  name: 'Category', tableName: 'categories',
  columns: { id, name: { type: 'varchar', length: 50 } },
  relations: {
    parent: { type: 'many-to-one', target: 'Category', treeParent: true, nullable: true },
    children: { type: 'one-to-many', target: 'Category', treeChildren: true, inverseSide: 'parent', cascade: true },
  },
  trees: [{ type: 'closure-table' }],
});
const Sold = new EntitySchema({
  name: 'Sold', tableName: 'sold', type: 'view',
  expression: 'SELECT `b`.`author_id` AS `author`, COUNT(*) AS `books`, SUM(`b`.`price`) AS `total` FROM `books` `b` GROUP BY `b`.`author_id`',
  columns: { author: { type: 'int' }, books: { type: 'int' }, total: { type: 'decimal' } },
});

class Create1700000000000 {
  name = 'Create1700000000000';
  async up(q) {
    await q.createTable(new Table({ name: 'shelves', columns: [
      { name: 'id', type: 'int', isPrimary: true, isGenerated: true, generationStrategy: 'increment' },
      { name: 'label', type: 'varchar', length: '40', comment: 'on the front' },
      { name: 'author', type: 'int', isNullable: true },
      { name: 'at', type: 'datetime', precision: 6, default: 'CURRENT_TIMESTAMP(6)', onUpdate: 'CURRENT_TIMESTAMP(6)' }] }), true);
    await q.createForeignKey('shelves', new TableForeignKey({ name: 'shelf_author', columnNames: ['author'],
      referencedTableName: 'authors', referencedColumnNames: ['id'], onDelete: 'SET NULL' }));
  }
  async down(q) { await q.dropTable('shelves'); }
}
class Change1700000000001 {
  name = 'Change1700000000001';
  async up(q) {
    await q.addColumn('shelves', new TableColumn({ name: 'size', type: 'enum', enum: ['s', 'm'], default: "'s'" }));
    await q.query("INSERT INTO shelves (label, size) VALUES ('a', 'm'), ('b', 's')");
    await q.changeColumn('shelves', 'size', new TableColumn({ name: 'size', type: 'enum', enum: ['s', 'm', 'l'], default: "'l'" }));
    await q.renameColumn('shelves', 'label', 'title');
    await q.createIndex('shelves', new TableIndex({ name: 'shelf_title', columnNames: ['title', 'size'], isUnique: true }));
    await q.createUniqueConstraint('shelves', new TableUnique({ name: 'shelf_unique', columnNames: ['title'] })).catch((e) => show(e.message));
    await q.addColumn('shelves', new TableColumn({ name: 'double', type: 'int', generatedType: 'VIRTUAL', asExpression: 'COALESCE(`author`, 0) * 2' }));
  }
  async down(q) {
    await q.dropIndex('shelves', 'shelf_title');
    await q.dropColumn('shelves', 'double');
    await q.renameColumn('shelves', 'title', 'label');
    await q.dropColumn('shelves', 'size');
  }
}

const source = new DataSource({ type: 'mysql', host, port: Number(port), username: user, database,
  entities: [Author, Book, Details, Tag, Category, Sold], migrations: [Create1700000000000, Change1700000000001],
  timezone: 'Z', supportBigNumbers: true, extra: { connectionLimit: 5 } });
const repository = (entity) => source.getRepository(entity);

async function schema() {
  await step('connect', () => source.initialize());
  await step('synchronize', () => source.synchronize());
  await step('synchronize again', async () => {
    const log = await source.driver.createSchemaBuilder().log();
    show(log.upQueries.map((query) => query.query));
    await source.synchronize();
  });
  await step('show create', async () => {
    for (const table of ['authors', 'books', 'details', 'book_tags', 'categories', 'categories_closure']) {
      show((await source.query(`SHOW CREATE TABLE ${table}`))[0]['Create Table']);
    }
  });
  await step('introspection', async () => {
    const q = source.createQueryRunner();
    for (const name of ['authors', 'books', 'book_tags']) {
      const table = await q.getTable(name);
      show(table.columns.sort((a, b) => (a.name < b.name ? -1 : 1)).map((c) => [c.name, c.type, c.length, c.precision, c.scale, c.isNullable, c.default, c.enum, c.charset,
        c.collation, c.comment, c.isGenerated, c.generatedType, c.asExpression, c.unsigned, c.isUnique]));
      show(table.indices.map((i) => [i.name, i.columnNames, i.isUnique]).sort());
      show(table.foreignKeys.map((k) => [k.columnNames, k.referencedColumnNames, k.onDelete, k.onUpdate]).sort());
      show(table.primaryColumns.map((c) => c.name));
    }
    show([await q.hasTable('authors'), await q.hasTable('nowhere'), await q.hasColumn('books', 'isbn')]);
    show((await q.getViews([])).map((v) => v.name));
    await q.release();
  });
}

async function rows() {
  const authors = repository(Author), books = repository(Book);
  await step('save with cascades', async () => {
    const ann = await authors.save({ name: 'Ann É 🙂', born: '1990-02-28', genres: ['crime', 'drama'], profile: { theme: 'dark', sizes: [1, 2] },
      key: '6c84fb90-12c4-11e1-840d-7b25c5ee775a',
      books: [{ title: 'One', isbn: '1234567890123', price: '12.50', pages: 300, weight: 0.1, cover: Buffer.from([0, 1, 255]), text: 'x'.repeat(100000),
        lent: new Date('2024-05-06T07:08:09.123Z'), year: 1999, opens: '10:11:12.345', flag: 1,
        tags: [{ word: 'red' }, { word: 'dark', rank: 2 }], details: { note: 'fine' } }] });
    show([ann.id, ann.version, ann.active, ann.kind, ann.books[0].id]);
    const found = await authors.findOne({ where: { id: ann.id }, relations: { books: { tags: true, details: true } } });
    const { created, ...rest } = found;
    show(created instanceof Date);
    rest.books[0].text = rest.books[0].text.length;
    rest.books[0].tags.sort((a, b) => (a.word < b.word ? -1 : 1));
    show(rest);
  });
  await step('insert many', async () => {
    const bob = await authors.save({ name: 'Bob', kind: 'group', profile: [] });
    const made = await books.insert(Array.from({ length: 300 }, (_, i) => ({ title: `Book ${i % 30}`, isbn: String(9999999999000 + i),
      price: (i * 1.25).toFixed(2), pages: i, weight: i / 7, author: { id: bob.id } })));
    show([made.identifiers.length, made.identifiers[0], made.identifiers[299], await books.count()]);
  });
  await step('find', async () => {
    show(await books.find({ select: { id: true, title: true, price: true, tax: true }, where: [{ price: Between('10', '12') }, { title: Like('%29'), pages: MoreThan(200) }], order: { price: 'DESC', id: 'ASC' }, take: 4, skip: 1 }));
    show(await books.findAndCount({ select: { id: true }, where: { isbn: In(['9999999999200', '9999999999005']), lent: IsNull(), title: Not('Nothing') }, order: { id: 'ASC' } }));
    show(await books.find({ select: { id: true, pages: true }, where: { pages: Raw((alias) => `${alias} % 100 = :rest`, { rest: 7 }) }, order: { id: 1 } }));
    show(await books.findAndCount({ relations: { author: true, tags: true }, select: { id: true, title: true, author: { name: true } }, order: { id: 'ASC' }, take: 2 }));
    show([await books.exists({ where: { title: 'One' } }), await books.sum('pages'), await books.average('price'), await books.maximum('weight'), await books.minimum('pages')]);
  });
  await step('query builder', async () => {
    show(await books.createQueryBuilder('b').innerJoin('b.author', 'a').select('a.name', 'name').addSelect('COUNT(*)', 'n').addSelect('SUM(b.price)', 's')
      .addSelect('AVG(b.pages)', 'p').groupBy('a.id').having('n > :n', { n: 0 }).orderBy('n', 'DESC').getRawMany());
    show(await books.createQueryBuilder('b').where((q) => `b.price = ${q.subQuery().select('MAX(x.price)').from(Book, 'x').where('x.author_id = b.author_id').getQuery()}`)
      .orderBy('b.id').select(['b.id', 'b.price']).getMany());
    show(await source.createQueryBuilder().select('t.title', 'title').addSelect('t.n', 'n').from((q) => q.select('b.title', 'title').addSelect('COUNT(*)', 'n').from(Book, 'b').groupBy('b.title'), 't')
      .orderBy('t.title').limit(3).getRawMany());
    show(await books.createQueryBuilder('b').addCommonTableExpression('SELECT id FROM books WHERE pages < 3', 'few').innerJoin('few', 'f', 'f.id = b.id').select('b.id', 'id').orderBy('b.id').getRawMany());
    show(await source.query('SELECT id, ROW_NUMBER() OVER (PARTITION BY author_id ORDER BY price DESC) n, LAG(price) OVER w l FROM books WINDOW w AS (ORDER BY id) ORDER BY id LIMIT 4'));
  });
  await step('json', async () => {
    show(await authors.createQueryBuilder('a').where("JSON_EXTRACT(a.profile, '$.theme') = :t", { t: 'dark' }).select('a.name').getMany());
    await authors.createQueryBuilder().update().set({ profile: () => "JSON_SET(profile, '$.theme', 'blue')" }).where('name LIKE :n', { n: 'Ann%' }).execute();
    show((await authors.findOneBy({ id: 1 })).profile);
  });
  await step('update and version', async () => {
    const ann = await authors.findOneBy({ id: 1 });
    ann.born = '1991-01-01';
    show((await authors.save(ann)).version);
    const done = await books.update({ title: 'Book 7' }, { pages: () => 'pages + 1', flag: 1 });
    show([done.affected, done.raw.changedRows]);
    await books.increment({ title: 'Book 8' }, 'pages', 5);
    show(await books.find({ select: { pages: true, flag: 1 }, where: { title: In(['Book 7', 'Book 8']) }, order: { id: 'ASC' }, take: 3 }));
  });
  await step('upsert', async () => {
    const tags = repository(Tag);
    await tags.upsert([{ word: 'red', rank: 5 }, { word: 'blue', rank: 6 }], ['word']);
    const done = await tags.createQueryBuilder().insert().values([{ word: 'red' }, { word: 'green' }]).orIgnore().execute();
    show([done.raw.affectedRows, done.raw.warningStatus > 0]);
    await tags.createQueryBuilder().insert().values([{ word: 'red', rank: 9 }]).orUpdate(['rank'], ['word']).execute();
    show(await tags.find({ order: { word: 'ASC' } }));
  });
  await step('soft delete', async () => {
    await books.softDelete({ title: 'Book 9' });
    show([await books.count(), await books.count({ withDeleted: true })]);
    show((await books.restore({ title: 'Book 9' })).affected);
  });
  await step('relations', async () => {
    await source.createQueryBuilder().relation(Book, 'tags').of(2).add(['red', 'blue']);
    await source.createQueryBuilder().relation(Book, 'tags').of(2).remove('red');
    show(await source.createQueryBuilder().relation(Book, 'tags').of(2).loadMany());
    show(await books.createQueryBuilder('b').loadRelationCountAndMap('b.n', 'b.tags').where('b.id < 4').select('b.id').orderBy('b.id').getMany());
    show((await books.delete({ id: 1 })).affected);
    show([await repository(Details).count(), await source.query('SELECT COUNT(*) n FROM book_tags')]);
  });
  await step('tree', async () => {
    const trees = source.getTreeRepository(Category);
    const root = await trees.save({ name: 'root', children: [{ name: 'left' }, { name: 'right', children: [{ name: 'leaf' }] }] });
    show(await trees.findTrees());
    show([await trees.countDescendants(root), (await trees.findAncestors(await trees.findOneBy({ name: 'leaf' }))).map((c) => c.name).sort()]);
  });
  await step('view', async () => show(await repository(Sold).find({ order: { author: 'ASC' } })));
  await step('stream', async () => {
    let count = 0, sum = 0;
    const stream = await books.createQueryBuilder('b').orderBy('b.id').stream();
    await new Promise((done, bad) => {
      stream.on('data', (row) => { count += 1; sum += row.b_pages; });
      stream.on('end', done);
      stream.on('error', bad);
    });
    show([count, sum]);
  });
}

async function errors() {
  await step('unique', () => fails(() => repository(Book).insert({ title: 'x', isbn: '9999999999005', author: { id: 2 } })));
  await step('no parent', () => fails(() => repository(Book).insert({ title: 'x', author: { id: 4711 } })));
  await step('has children', () => fails(() => repository(Author).delete({ id: 2 })));
  await step('null', () => fails(() => repository(Author).insert({ kind: 'group' })));
  await step('too long', () => fails(() => repository(Tag).insert({ word: 'x'.repeat(31) })));
  await step('out of range', () => fails(() => repository(Book).update({ id: 2 }, { pages: 70000 })));
  await step('enum', () => fails(() => repository(Author).update({ id: 2 }, { kind: 'nobody' })));
  await step('generated column', () => fails(() => source.query('UPDATE books SET tax = 1 WHERE id = 2')));
  await step('no table', () => fails(() => source.query('SELECT * FROM nowhere')));
  await step('no column', () => fails(() => source.query('SELECT colour FROM books')));
  await step('not found', () => fails(() => repository(Book).findOneByOrFail({ id: 999999 })));
}

async function transactions() {
  const books = repository(Book);
  const pages = async (number, manager) => (await manager.findOneBy(Book, { id: number })).pages;
  await step('commit and rollback', async () => {
    await source.transaction((m) => m.update(Book, { id: 10 }, { pages: 1000 }));
    await source.transaction(async (m) => {
      await m.update(Book, { id: 10 }, { pages: 2000 });
      show(await pages(10, m));
      throw new Error('undo');
    }).catch((error) => show(error.message));
    show(await pages(10, source.manager));
  });
  await step('savepoints', async () => {
    const q = source.createQueryRunner();
    await q.startTransaction();
    await q.manager.update(Book, { id: 11 }, { pages: 1 });
    await q.startTransaction();
    await q.manager.update(Book, { id: 11 }, { pages: 2 });
    await q.rollbackTransaction();
    show(await pages(11, q.manager));
    await q.commitTransaction();
    await q.release();
    show(await pages(11, source.manager));
  });
  for (const level of ['READ UNCOMMITTED', 'READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE']) {
    await step(`isolation ${level}`, () => source.transaction(level, async (m) => {
      const before = await pages(12, m);
      if (level !== 'SERIALIZABLE') await books.increment({ id: 12 }, 'pages', 1);
      show((await pages(12, m)) - before);
    }));
  }
  await step('locks', () => source.transaction(async (first) => {
    await first.findOne(Book, { where: { id: 20 }, lock: { mode: 'pessimistic_write' } });
    await source.transaction(async (second) => {
      show((await second.find(Book, { where: { id: In([20, 21]) }, lock: { mode: 'pessimistic_write', onLocked: 'skip_locked' }, select: { id: true } })).map((b) => b.id));
      await fails(() => second.find(Book, { where: { id: 20 }, lock: { mode: 'pessimistic_read', onLocked: 'nowait' } }));
    });
  }));
  await step('lock wait', () => source.transaction(async (first) => {
    await first.update(Book, { id: 30 }, { pages: 1 });
    await source.transaction(async (second) => {
      await second.query('SET innodb_lock_wait_timeout = 1');
      await fails(() => second.update(Book, { id: 30 }, { pages: 2 }));
      await second.query('SET innodb_lock_wait_timeout = DEFAULT');
    });
  }));
  await step('optimistic lock', () => source.transaction((m) => fails(() => m.findOne(Author, { where: { id: 1 }, lock: { mode: 'optimistic', version: 1 } }))));
  await step('many at once', async () => {
    await Promise.all(Array.from({ length: 30 }, () => source.transaction(async (m) => {
      const book = await m.findOne(Book, { where: { id: 40 }, lock: { mode: 'pessimistic_write' }, loadEagerRelations: false });
      await m.update(Book, { id: 40 }, { pages: book.pages + 1 });
    })));
    show(await pages(40, source.manager));
  });
}

async function migrations() {
  const described = async () => show((await source.query('SHOW CREATE TABLE shelves'))[0]['Create Table']);
  await step('migrate up', async () => {
    show((await source.runMigrations({ transaction: 'each' })).map((m) => m.name));
    await described();
    show(await source.query('SELECT id, title, size, `double` FROM shelves'));
    show(await source.showMigrations());
  });
  await step('migrate down', async () => {
    await source.undoLastMigration();
    await described();
    await source.undoLastMigration();
    show(await source.query('SELECT timestamp, name FROM migrations'));
  });
  await step('drop database', async () => {
    await source.dropDatabase();
    show((await source.query('SHOW TABLES')).length);
  });
}

(async () => {
  for (const part of [schema, rows, errors, transactions, migrations]) await part();
  await source.destroy();
})();
