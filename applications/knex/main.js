// Accounts and postings with Knex: migrations, its query builder, streams, transactions.
const knex = require('knex');
const { show, step, message, failing } = require('steps');

const [host, port, user, database] = process.argv.slice(2);
const db = knex({ client: 'mysql2', pool: { min: 0, max: 5 },
  connection: { host, port: Number(port), user, database, timezone: 'Z', dateStrings: true } });


const fails = failing((error) => [error.code, error.errno, error.sqlState, message(error.sqlMessage || '')]);

const MIGRATIONS = {
  '001_accounts': {
    up: (k) => k.schema.createTable('accounts', (t) => {
      t.bigIncrements('id');
      t.string('owner', 60).notNullable().comment('who has it');
      t.string('iban', 34).unique();
      t.decimal('balance', 14, 2).notNullable().defaultTo(0);
      t.enu('kind', ['giro', 'savings']).notNullable().defaultTo('giro');
      t.json('extra');
      t.uuid('key');
      t.boolean('open').defaultTo(true);
      t.timestamps(true, true);
      t.index(['owner', 'kind'], 'owner_kind');
    }),
    down: (k) => k.schema.dropTable('accounts'),
  },
  '002_postings': {
    up: (k) => k.schema.createTable('postings', (t) => {
      t.bigInteger('account').unsigned().notNullable().references('id').inTable('accounts').onDelete('CASCADE');
      t.integer('number').notNullable();
      t.date('day');
      t.time('at');
      t.decimal('amount', 14, 2).checkBetween([-100000, 100000], 'amount_range');
      t.text('text');
      t.binary('proof', 16);
      t.float('rate');
      t.primary(['account', 'number']);
    }),
    down: (k) => k.schema.dropTable('postings'),
  },
  '003_changes': {
    up: (k) => k.schema.alterTable('accounts', (t) => {
      t.renameColumn('key', 'token');
      t.string('owner', 80).notNullable().alter();
      t.smallint('level').unsigned().defaultTo(3).after('owner');
      t.dropIndex(['owner', 'kind'], 'owner_kind');
      t.unique(['owner', 'kind', 'iban'], { indexName: 'who' });
    }),
    down: (k) => k.schema.alterTable('accounts', (t) => {
      t.dropUnique(['owner', 'kind', 'iban'], 'who');
      t.index(['owner', 'kind'], 'owner_kind');
      t.dropColumn('level');
      t.renameColumn('token', 'key');
    }),
  },
};
const source = { getMigrations: async () => Object.keys(MIGRATIONS), getMigrationName: (name) => name,
  getMigration: async (name) => MIGRATIONS[name] };

async function definitions() {
  const tables = ['accounts', 'postings'];
  for (const table of tables) show((await db.raw('SHOW CREATE TABLE ??', table))[0][0]['Create Table']);
  // The order of columns there is not defined.
  show(Object.entries(await db('accounts').columnInfo()).sort(([a], [b]) => (a < b ? -1 : 1)));
}

async function schema() {
  await step('migrate up', async () => {
    show(await db.migrate.latest({ migrationSource: source }));
    await definitions();
  });
  await step('migrate down and up', async () => {
    show(await db.migrate.down({ migrationSource: source }));
    await definitions();
    show(await db.migrate.up({ migrationSource: source }));
    show([await db.migrate.currentVersion({ migrationSource: source }),
      await db.schema.hasTable('accounts'), await db.schema.hasColumn('accounts', 'key')]);
  });
  await step('view', () => db.schema.createView('rich', (v) => {
    v.columns(['id', 'owner']);
    v.as(db('accounts').select('id', 'owner').where('balance', '>', 1000));
  }));
}

async function rows() {
  await step('insert', async () => {
    show(await db('accounts').insert({ owner: 'Ann', iban: 'DE01', balance: '1500.25', extra: JSON.stringify({ a: [1, 2] }) }));
    show(await db('accounts').insert([{ owner: 'Bob', iban: 'DE02', kind: 'savings' }, { owner: 'Cy', iban: 'DE03', balance: 7 }]));
    await db.batchInsert('postings', Array.from({ length: 300 }, (_, i) => ({ account: 1 + (i % 3), number: i,
      day: `2024-0${1 + (i % 9)}-1${i % 10}`, at: '10:11:12', amount: i - 150, text: `posting ${i}`, proof: Buffer.from([i % 256]), rate: i / 3 })), 70);
    show(await db('postings').count({ n: '*' }));
    show(await db('accounts').select('owner', 'level', 'balance', 'kind', 'extra', 'open').orderBy('id'));
  });
  await step('queries', async () => {
    show(await db('postings as p').join('accounts as a', 'a.id', 'p.account').leftJoin('rich as r', 'r.id', 'a.id')
      .select('a.owner', 'r.owner as rich').sum({ s: 'p.amount' }).avg({ m: 'p.amount' }).groupBy('a.owner', 'r.owner').having('s', '<', 0).orderBy('a.owner'));
    show(await db('postings').where((b) => b.whereBetween('number', [10, 14]).orWhereIn('number', [200, 201])).andWhereNot('account', 2)
      .orderBy([{ column: 'day', order: 'desc' }, 'number']).limit(3).offset(1));
    show(await db('accounts').whereExists(db('postings').select(1).whereRaw('postings.account = accounts.id and amount > 148')).pluck('owner'));
    show(await db.with('t', db('postings').select('account', 'amount').rowNumber('n', (o) => o.partitionBy('account').orderBy('amount', 'desc')))
      .from('t').where('n', '<=', 2).orderBy(['account', 'n']));
    show(await db('accounts').select('owner').union(db('postings').select('text').where('number', '<', 2)).orderBy('owner'));
    show(await db('accounts').jsonExtract('extra', '$.a[1]', 'second').orderBy('id'));
    show(await db('accounts').whereJsonPath('extra', '$.a[0]', '=', 1).pluck('owner'));
    show(await db('accounts').first('owner').whereILike('owner', 'AN%'));
  });
  await step('change', async () => {
    show(await db('accounts').insert({ owner: 'Ann 2', iban: 'DE01', balance: 9 }).onConflict('iban').merge({ balance: db.raw('accounts.balance + VALUES(balance)') }));
    show(await db('accounts').insert({ owner: 'x', iban: 'DE02' }).onConflict('iban').ignore());
    show(await db('accounts').where({ owner: 'Bob' }).increment('balance', 2.5));
    show(await db('postings as p').join('accounts as a', 'a.id', 'p.account').where('a.owner', 'Cy').update({ 'p.text': db.raw('UPPER(p.text)') }));
    show(await db('postings').where('number', '>', 290).del());
    show(await db('accounts').select('owner', 'balance').orderBy('id'));
  });
  await step('stream', async () => {
    let [count, sum] = [0, 0];
    for await (const row of db('postings').select('number').stream()) { count += 1; sum += row.number; }
    show([count, sum]);
  });
}

async function transactions() {
  const balance = async (k) => (await k('accounts').first('balance').where('id', 3)).balance;
  await step('rollback and savepoint', async () => {
    await db.transaction(async (t) => {
      await t('accounts').where('id', 3).update({ balance: 100 });
      await t.transaction(async (inner) => {
        await inner('accounts').where('id', 3).update({ balance: 200 });
        throw new Error('inner');
      }).catch((error) => show(error.message));
      show(await balance(t));
      throw new Error('outer');
    }).catch((error) => show(error.message));
    show(await balance(db));
  });
  for (const isolationLevel of ['read uncommitted', 'read committed', 'repeatable read']) {
    await step(isolationLevel, () => db.transaction(async (t) => {
      const before = await balance(t);
      await db('accounts').where('id', 3).increment('balance', 1);
      show((await balance(t)) - before);
    }, { isolationLevel }));
  }
  await step('read only', () => fails(() => db.transaction((t) => t('accounts').update({ balance: 1 }), { readOnly: true })));
  await step('locks', () => db.transaction(async (a) => {
    await a('accounts').where('id', 1).forUpdate();
    await db.transaction(async (b) => {
      show(await b('accounts').orderBy('id').forUpdate().skipLocked().pluck('owner'));
      await fails(() => b('accounts').where('id', 1).forUpdate().noWait());
    });
  }));
}

async function errors() {
  await step('unique', () => fails(() => db('accounts').insert({ owner: 'x', iban: 'DE01' })));
  await step('no parent', () => fails(() => db('postings').insert({ account: 99, number: 1 })));
  await step('check', () => fails(() => db('postings').insert({ account: 1, number: 999, amount: 200000 })));
  await step('null', () => fails(() => db('accounts').insert({ owner: null })));
  await step('no table', () => fails(() => db('nowhere')));
  await step('timeout', () => fails(() => db.raw('SELECT SLEEP(5)').timeout(200, { cancel: true })));
  await step('cascade', async () => {
    await db('accounts').where('id', 1).del();
    show(await db('postings').count({ n: '*' }));
  });
  await step('roll all back', async () => {
    await db.schema.dropView('rich');
    show(await db.migrate.rollback({ migrationSource: source }, true));
    show(await db.schema.hasTable('accounts'));
  });
}

(async () => {
  for (const part of [schema, rows, transactions, errors]) await part();
  await db.destroy();
})();
