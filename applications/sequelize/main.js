// A small shop in Sequelize: models, associations, transactions, locks, changes of the schema.
const { Sequelize, DataTypes, Op, QueryTypes, Transaction } = require('sequelize');
const { show, step, message, failing } = require('steps');

const [host, port, user, database] = process.argv.slice(2);
const sequelize = new Sequelize(database, user, '', {
  host, port: Number(port), dialect: 'mysql', logging: false, timezone: '+00:00',
  pool: { max: 5, acquire: 20000 },
});

const plain = (rows) => rows.map((row) => row.get({ plain: true }));

// The library's class of an error, and the server's code.
const fails = failing((error) => {
  const from = error.original || {};
  return [error.name, from.errno, from.sqlState, message(from.sqlMessage), error.table, error.fields];
});

const untimed = { timestamps: false };
const Customer = sequelize.define('Customer', {
  email: { type: DataTypes.STRING(100), allowNull: false, unique: true },
  name: { type: DataTypes.STRING, allowNull: false },
  kind: { type: DataTypes.ENUM('person', 'firm'), defaultValue: 'person' },
  settings: DataTypes.JSON,
  born: DataTypes.DATEONLY,
  seen: DataTypes.DATE(6),
  active: { type: DataTypes.BOOLEAN, defaultValue: true },
  token: { type: DataTypes.UUID, unique: true },
}, untimed);
const Product = sequelize.define('Product', {
  sku: { type: DataTypes.STRING(20), primaryKey: true },
  title: { type: DataTypes.STRING, allowNull: false },
  price: { type: DataTypes.DECIMAL(10, 2), allowNull: false },
  stock: { type: DataTypes.INTEGER.UNSIGNED, defaultValue: 0 },
  weight: DataTypes.DOUBLE,
  picture: DataTypes.BLOB,
  views: { type: DataTypes.BIGINT, defaultValue: 0 },
}, { ...untimed, indexes: [{ fields: ['title', { name: 'price', order: 'DESC' }] }] });
const Order = sequelize.define('Order', {
  state: { type: DataTypes.ENUM('new', 'paid', 'sent'), defaultValue: 'new' },
  note: DataTypes.TEXT,
}, { paranoid: true });
const Line = sequelize.define('Line', {
  quantity: { type: DataTypes.INTEGER, allowNull: false },
}, untimed);
const Tag = sequelize.define('Tag', { word: { type: DataTypes.STRING(30), unique: true } }, untimed);
Customer.hasMany(Order, { foreignKey: { allowNull: false }, onDelete: 'RESTRICT' });
Order.belongsTo(Customer);
Order.belongsToMany(Product, { through: Line });
Product.belongsToMany(Order, { through: Line });
Order.hasMany(Line);
Line.belongsTo(Order);
Product.belongsToMany(Tag, { through: 'ProductTags', timestamps: false });
Tag.belongsToMany(Product, { through: 'ProductTags', timestamps: false });
Tag.belongsTo(Tag, { as: 'parent', onDelete: 'SET NULL' });

async function schema() {
  await step('sync', () => sequelize.sync({ force: true }));
  await step('sync again with alter', () => sequelize.sync({ alter: true }));
  await step('tables', async () => show((await sequelize.getQueryInterface().showAllTables()).map((t) => t.tableName || t).sort()));
  await step('describe', async () => {
    for (const model of [Customer, Product, Order, Line, Tag]) show(await model.describe());
  });
  await step('indexes', async () => {
    for (const table of ['Customers', 'Products', 'Lines', 'ProductTags']) {
      const indexes = await sequelize.getQueryInterface().showIndex(table);
      show(indexes.map((i) => [i.name, i.unique, i.primary, i.type, i.fields]));
    }
  });
  await step('foreign keys', async () => {
    for (const table of ['Orders', 'Lines', 'ProductTags', 'Tags']) {
      const keys = await sequelize.getQueryInterface().getForeignKeyReferencesForTable(table);
      show(keys.map((k) => [k.constraintName, k.columnName, k.referencedTableName, k.referencedColumnName])
        .sort());
    }
  });
  await step('constraints', async () => {
    const found = await sequelize.getQueryInterface().showConstraint('Orders');
    show(found.map((c) => [c.constraintName, c.constraintType, c.tableName]));
  });
  await step('version', async () => show(/^\d+\.\d+/.test(await sequelize.databaseVersion())));
}

async function rows() {
  await step('create', async () => {
    const ann = await Customer.create({ email: 'ann@example.org', name: 'Ann É 🙂', settings: { theme: 'dark', sizes: [1, 2] },
      born: '1990-02-28', seen: new Date('2024-05-06T07:08:09.123Z'), token: '6c84fb90-12c4-11e1-840d-7b25c5ee775a' });
    show(ann.get());
    show((await Customer.findByPk(ann.id)).get());
  });
  await step('bulk create', async () => {
    await Product.bulkCreate(Array.from({ length: 200 }, (_, i) => ({
      sku: `P${String(i).padStart(3, '0')}`, title: `Product ${i % 20}`, price: (i * 1.25).toFixed(2), stock: i,
      weight: i / 7, picture: Buffer.from([0, i, 255]), views: '9007199254740993' })));
    await Customer.bulkCreate([{ email: 'bob@example.org', name: 'Bob', kind: 'firm', settings: [] },
      { email: 'cy@example.org', name: 'Cy', settings: { theme: 'light' }, active: false }]);
    show(await Product.count());
    show((await Product.findByPk('P007')).get());
  });
  await step('associations', async () => {
    const ann = await Customer.findOne({ where: { email: 'ann@example.org' } });
    for (const count of [1, 2, 3]) {
      const order = await ann.createOrder({ note: `order ${count}` });
      await order.addProducts(await Product.findAll({ order: ['sku'], limit: count }), { through: { quantity: count } });
    }
    const [red, dark] = await Tag.bulkCreate([{ word: 'red' }, { word: 'dark' }]);
    await dark.setParent(red);
    await (await Product.findByPk('P001')).setTags([red, dark]);
    show(await ann.countOrders());
  });
  await step('eager loading', async () => {
    const found = await Customer.findAll({ order: ['id', [Order, 'id'], [Order, Product, 'sku']],
      attributes: ['id', 'name'],
      include: { model: Order, attributes: ['id', 'state'], include: { model: Product, attributes: ['sku'], include: { model: Tag, attributes: ['word'] } } } });
    show(plain(found));
    show(plain(await Order.findAll({ attributes: ['id'], order: ['id'], include: { model: Product, separate: false, attributes: ['sku', 'price'],
      required: true, where: { price: { [Op.gte]: 1 } } } })));
  });
  await step('pages', async () => {
    const found = await Product.findAndCountAll({ where: { title: { [Op.like]: '%1' }, [Op.or]: [{ stock: { [Op.between]: [10, 90] } }, { sku: ['P101'] }] },
      order: [['price', 'DESC']], limit: 3, offset: 1, attributes: ['sku', 'price'] });
    show([found.count, plain(found.rows)]);
    const page = await Order.findAndCountAll({ include: Product, limit: 2, distinct: true, order: ['id'] });
    show([page.count, page.rows.map((o) => [o.id, o.Products.length])]);
  });
  await step('aggregates', async () => {
    show([await Product.sum('stock'), await Product.max('price'), await Product.min('sku')]);
    show(plain(await Product.findAll({ attributes: ['title', [sequelize.fn('COUNT', sequelize.col('*')), 'n'],
      [sequelize.fn('AVG', sequelize.col('price')), 'mean']], group: 'title', having: sequelize.literal('mean > 130'), order: ['title'] })));
    show(await Customer.count({ group: ['kind'] }));
  });
  await step('json', async () => {
    show(plain(await Customer.findAll({ where: { 'settings.theme': 'dark' }, attributes: ['name'] })));
    show(plain(await Customer.findAll({ where: { settings: { sizes: { [Op.ne]: null } } }, attributes: ['name'] })));
    await Customer.update({ settings: sequelize.fn('JSON_SET', sequelize.col('settings'), '$.theme', 'blue') }, { where: { name: 'Cy' } });
    show((await Customer.findOne({ where: { name: 'Cy' } })).settings);
  });
  await step('upsert', async () => {
    show(await Product.upsert({ sku: 'P001', title: 'renamed', price: '3.50' }));
    show(await Product.upsert({ sku: 'NEW', title: 'new', price: '4.50' }));
    await Product.bulkCreate([{ sku: 'P002', title: 'x', price: 1 }, { sku: 'NEW2', title: 'y', price: 2 }], { updateOnDuplicate: ['price'] });
    await Tag.bulkCreate([{ word: 'red' }, { word: 'blue' }], { ignoreDuplicates: true });
    show(plain(await Product.findAll({ where: { sku: ['P001', 'P002', 'NEW', 'NEW2'] }, attributes: ['sku', 'title', 'price'], order: ['sku'] })));
    const [tag, made] = await Tag.findOrCreate({ where: { word: 'green' } });
    show([tag.word, made, (await Tag.findOrCreate({ where: { word: 'green' } }))[1]]);
  });
  await step('change', async () => {
    show(await Product.update({ stock: sequelize.literal('stock + 1') }, { where: { stock: { [Op.lt]: 5 } } }));
    await Product.increment({ views: 2, stock: 5 }, { where: { sku: 'P003' } });
    await (await Product.findByPk('P004')).decrement('stock', { by: 2 });
    show(plain(await Product.findAll({ where: { sku: { [Op.in]: ['P003', 'P004'] } }, attributes: ['sku', 'stock', 'views'] })));
    show(await Product.destroy({ where: { sku: { [Op.startsWith]: 'P19' } }, limit: 4 }));
  });
  await step('paranoid', async () => {
    const order = await Order.findOne({ order: ['id'] });
    await order.destroy();
    show([await Order.count(), await Order.count({ paranoid: false })]);
    await order.restore();
    show(await Order.count());
  });
  await step('raw', async () => {
    show(await sequelize.query('SELECT sku, price * ? AS p, stock / 3 AS s FROM Products WHERE sku IN (?) ORDER BY sku', { replacements: [2, ['P005', 'P006']], type: QueryTypes.SELECT }));
    show(await sequelize.query('SELECT $1 AS a, $2 AS b, $1 + 1 AS c', { bind: [5, 'text'], type: QueryTypes.SELECT }));
    show(await sequelize.query('SELECT $a AS a, $b AS b', { bind: { a: 1.5, b: 'text' }, type: QueryTypes.SELECT }));
    show(await sequelize.query('WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT i, SUM(i) OVER (ORDER BY i) AS s FROM n', { type: QueryTypes.SELECT }));
  });
}

async function errors() {
  await step('unique', () => fails(() => Customer.create({ email: 'ann@example.org', name: 'x' })));
  await step('no parent', () => fails(() => Order.create({ CustomerId: 4711 })));
  await step('has children', () => fails(() => sequelize.query('DELETE FROM Customers')));
  await step('too long', () => fails(() => Tag.create({ word: 'x'.repeat(31) })));
  await step('out of range', () => fails(() => Product.update({ price: '123456789.00' }, { where: { sku: 'P001' } })));
  await step('enum', () => fails(() => sequelize.query("UPDATE Orders SET state = 'lost'")));
  await step('no table', () => fails(() => sequelize.query('SELECT * FROM nowhere')));
  await step('no column', () => fails(() => Product.findAll({ where: { colour: 1 } })));
  await step('syntax', () => fails(() => sequelize.query('SELEC 1')));
}

async function transactions() {
  const stock = async (sku, transaction) => (await Product.findByPk(sku, { transaction })).stock;
  await step('commit and rollback', async () => {
    await sequelize.transaction((t) => Product.update({ stock: 1000 }, { where: { sku: 'P010' }, transaction: t }));
    await sequelize.transaction(async (t) => {
      await Product.update({ stock: 2000 }, { where: { sku: 'P010' }, transaction: t });
      show(await stock('P010', t));
      throw new Error('undo');
    }).catch((error) => show(error.message));
    show(await stock('P010'));
  });
  await step('savepoints', () => sequelize.transaction(async (t) => {
    await Product.update({ stock: 1 }, { where: { sku: 'P011' }, transaction: t });
    await sequelize.transaction({ transaction: t }, async (inner) => {
      await Product.update({ stock: 2 }, { where: { sku: 'P011' }, transaction: inner });
      throw new Error('inner');
    }).catch((error) => show(error.message));
    show(await stock('P011', t));
  }));
  for (const level of Object.values(Transaction.ISOLATION_LEVELS)) {
    await step(`isolation ${level}`, () => sequelize.transaction({ isolationLevel: level }, async (t) => {
      const before = await stock('P012', t);
      if (level !== 'SERIALIZABLE') await Product.increment('stock', { where: { sku: 'P012' } });
      show((await stock('P012', t)) - before);
    }));
  }
  await step('for update', async () => {
    await sequelize.transaction(async (first) => {
      await Product.findByPk('P020', { transaction: first, lock: first.LOCK.UPDATE });
      await sequelize.transaction(async (second) => {
        // Sequelize's skipLocked is left out of what it sends to MySQL.
        const free = await sequelize.query("SELECT sku FROM Products WHERE sku IN ('P020', 'P021') FOR UPDATE SKIP LOCKED", { transaction: second, type: QueryTypes.SELECT });
        show(free.map((p) => p.sku));
        await fails(() => sequelize.query("SELECT * FROM Products WHERE sku = 'P020' FOR SHARE NOWAIT", { transaction: second }));
      });
    });
  });
  await step('lock wait', () => sequelize.transaction(async (first) => {
    await Product.update({ stock: 1 }, { where: { sku: 'P030' }, transaction: first });
    await sequelize.transaction(async (second) => {
      await sequelize.query('SET innodb_lock_wait_timeout = 1', { transaction: second });
      await fails(() => Product.update({ stock: 2 }, { where: { sku: 'P030' }, transaction: second }));
      await sequelize.query('SET innodb_lock_wait_timeout = DEFAULT', { transaction: second });
    });
  }));
  await step('many at once', async () => {
    await Promise.all(Array.from({ length: 40 }, () => sequelize.transaction(async (t) => {
      const product = await Product.findByPk('P040', { transaction: t, lock: t.LOCK.UPDATE });
      await product.update({ stock: product.stock + 1 }, { transaction: t });
    })));
    show(await stock('P040'));
  });
}

async function migrations() {
  const qi = sequelize.getQueryInterface();
  const described = async () => show(await qi.describeTable('things'));
  await step('migrate up', async () => {
    await qi.createTable('things', { id: { type: DataTypes.BIGINT.UNSIGNED, primaryKey: true, autoIncrement: true },
      name: { type: DataTypes.STRING(50), comment: 'what it is called' }, customer: { type: DataTypes.INTEGER, references: { model: 'Customers', key: 'id' }, onDelete: 'CASCADE', onUpdate: 'CASCADE' },
      made: { type: DataTypes.DATE, defaultValue: sequelize.literal('CURRENT_TIMESTAMP') } }, { comment: 'things', charset: 'utf8mb4', collate: 'utf8mb4_bin' });
    await qi.addColumn('things', 'size', { type: DataTypes.ENUM('s', 'm'), allowNull: false, defaultValue: 's', after: 'name' });
    await qi.bulkInsert('things', [{ name: 'a', size: 'm' }, { name: 'b', size: 's' }]);
    await qi.changeColumn('things', 'size', { type: DataTypes.ENUM('s', 'm', 'l'), allowNull: false, defaultValue: 'l' });
    await qi.renameColumn('things', 'name', 'label');
    await qi.addIndex('things', ['label', 'size'], { unique: true, name: 'label_size' });
    await qi.addConstraint('things', { fields: ['label'], type: 'unique', name: 'label_unique' });
    await described();
    show(await sequelize.query('SELECT id, label, size FROM things', { type: QueryTypes.SELECT }));
    show((await sequelize.query('SHOW CREATE TABLE things'))[0]);
  });
  await step('migrate down', async () => {
    await qi.removeConstraint('things', 'label_unique');
    await qi.removeIndex('things', 'label_size');
    await qi.removeConstraint('things', 'things_ibfk_1');
    await qi.removeColumn('things', 'customer');
    await qi.renameTable('things', 'items');
    show((await sequelize.query('SHOW CREATE TABLE items'))[0]);
    await qi.dropTable('items');
    show(await qi.tableExists('items'));
  });
  await step('drop all', async () => {
    await sequelize.drop();
    show(await qi.showAllTables());
  });
}

(async () => {
  await sequelize.authenticate();
  for (const part of [schema, rows, errors, transactions, migrations]) await part();
  await sequelize.close();
})();
