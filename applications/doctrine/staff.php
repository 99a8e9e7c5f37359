<?php
// A firm with Doctrine: its schema made, compared and changed, entities, queries, locks, errors.

require 'steps.php';
require 'Doctrine/ORM/autoload.php';
require 'Symfony/Component/Cache/autoload.php';
require 'types.php';
require 'entities/staff.php';

use Doctrine\Common\Collections\Criteria;
use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Doctrine\DBAL\Exception\RetryableException;
use Doctrine\DBAL\LockMode;
use Doctrine\DBAL\ParameterType;
use Doctrine\DBAL\Schema\Comparator;
use Doctrine\DBAL\Schema\Schema;
use Doctrine\DBAL\Schema\Table;
use Doctrine\DBAL\TransactionIsolationLevel;
use Doctrine\DBAL\Types\Type;
use Doctrine\DBAL\Types\Types;
use Doctrine\ORM\EntityManager;
use Doctrine\ORM\Mapping\UnderscoreNamingStrategy;
use Doctrine\ORM\ORMSetup;
use Doctrine\ORM\Query;
use Doctrine\ORM\Query\ResultSetMappingBuilder;
use Doctrine\ORM\Tools\Pagination\Paginator;
use Doctrine\ORM\Tools\SchemaTool;
use Doctrine\ORM\Tools\SchemaValidator;

[, $host, $port, $user, $database] = $argv;
date_default_timezone_set('UTC');

/** A new connection by one of the two drivers. */
function connection(string $driver = 'pdo_mysql'): Connection
{
    global $host, $port, $user, $database;
    return DriverManager::getConnection(['driver' => $driver, 'host' => $host, 'port' => (int) $port, 'user' => $user, 'password' => '', 'dbname' => $database, 'charset' => 'utf8mb4',
        'defaultTableOptions' => ['charset' => 'utf8mb4', 'collate' => 'utf8mb4_0900_ai_ci']]);
}

/** A new entity manager. */
function manager(?Connection $connection = null): EntityManager
{
    $settings = ORMSetup::createAttributeMetadataConfiguration([__DIR__ . '/entities'], true, __DIR__ . '/proxies');
    $settings->setNamingStrategy(new UnderscoreNamingStrategy(CASE_LOWER, true));
    $settings->setAutoGenerateProxyClasses(true);
    $manager = new EntityManager($connection ?? connection(), $settings);
    $platform = $manager->getConnection()->getDatabasePlatform();
    $platform->registerDoctrineTypeMapping('enum', 'string');
    return $manager;
}

/** Runs an error's step in a manager of its own: one that failed is closed. */
function refused(callable $run): void
{
    fails(fn () => $run(manager()));
}

/** A statement's results, one by one. */
function rows(Connection $connection, string $sql, array $parameters = [], array $types = []): void
{
    foreach ($connection->fetchAllNumeric($sql, $parameters, $types) as $row) {
        show($row);
    }
}

/** The columns, indexes and keys of a table, as the schema manager sees them. */
function described(Table $table): void
{
    show($table->getName(), $table->getComment(), array_diff_key($table->getOptions(), ['create_options' => 1, 'autoincrement' => 1, 'row_format' => 1]));
    foreach ($table->getColumns() as $column) {
        $told = $column->toArray();
        $told['type'] = $told['type']->getName();
        show($told);
    }
    $indexes = $table->getIndexes();
    ksort($indexes);
    foreach ($indexes as $index) {
        show($index->getName(), $index->getColumns(), $index->isUnique(), $index->isPrimary(), $index->getFlags(), $index->getOptions());
    }
    $keys = $table->getForeignKeys();
    ksort($keys);
    foreach ($keys as $key) {
        show($key->getName(), $key->getLocalColumns(), $key->getForeignTableName(), $key->getForeignColumns(), $key->getOptions());
    }
}

$em = manager();
$db = $em->getConnection();
$tool = new SchemaTool($em);
$classes = $em->getMetadataFactory()->getAllMetadata();

step('create schema', function () use ($db, $tool, $classes) {
    show($tool->getCreateSchemaSql($classes));
    $tool->createSchema($classes);
    foreach ($db->createSchemaManager()->listTableNames() as $name) {
        show(explode("\n", $db->fetchNumeric("SHOW CREATE TABLE `$name`")[1]));
    }
});

step('nothing to update', function () use ($em, $tool, $classes) {
    show($tool->getUpdateSchemaSql($classes));
    show((new SchemaValidator($em))->validateMapping(), (new SchemaValidator($em))->schemaInSyncWithMetadata());
});

step('introspect', function () use ($db) {
    $schema = $db->createSchemaManager()->introspectSchema();
    $tables = $schema->getTables();
    ksort($tables);
    foreach ($tables as $table) {
        described($table);
    }
});

step('drop and create again', function () use ($db, $tool, $classes) {
    $tool->dropSchema($classes);
    show($db->createSchemaManager()->listTableNames());
    $tool->updateSchema($classes);
    show($tool->getUpdateSchemaSql($classes));
    $tool->dropDatabase();
    show($db->createSchemaManager()->listTableNames());
    $tool->createSchema($classes);
});

step('persist', function () use ($em) {
    $ann = new Employee('Ann É 🙂', 'ann@example.org');
    [$ann->grade, $ann->salary, $ann->seen] = ["it's other", '12345678.90', new DateTimeImmutable('2024-02-29 01:02:03.456789')];
    $ann->address = new Address("O'Neil \\ \"street\" 5", 'Köln');
    $em->persist($ann);
    foreach (['Bob', 'Cy', 'Di'] as $i => $name) {
        $one = new Employee($name);
        [$one->boss, $one->salary] = [$ann, 1000.5 * ($i + 1)];
        $em->persist($one);
        $ann->team->add($one);
    }
    $eve = new Guest('Eve');
    $eve->until = new DateTimeImmutable('2024-12-31');
    $em->persist($eve);
    $car = new Car('6c84fb90-12c4-11e1-840d-7b25c5ee775a', $ann);
    $car->power = 110.25;
    $laptop = new Laptop('6c84fb91-12c4-11e1-840d-7b25c5ee775a', $ann);
    $laptop->parts = ['ram' => 16, 'disks' => [1.5, 'ü', null, true], 'o' => new stdClass()];
    $em->flush();
    show($ann->id, $eve->id);
    foreach (['House', 'Roof', 'Garden'] as $i => $title) {
        $project = new Project($title, ['budget' => $i * 100, 'tags' => array_slice(['a', 'b', 'c'], $i)]);
        $project->members = new Doctrine\Common\Collections\ArrayCollection(array_slice($ann->team->toArray(), $i));
        $project->part_of = $i ? $em->getRepository(Project::class)->findOneBy(['title' => 'House']) : null;
        $em->persist($project);
        $em->flush();
    }
    for ($i = 1; $i <= 25; $i++) {
        $bill = new Bill($i % 5 ? $ann : $eve, sprintf('2024-03-%02d 10:00:00', $i));
        $bill->note = str_repeat('ü', $i % 3);
        for ($n = 0; $n <= $i % 4; $n++) {
            $bill->add("line $n", (string) ($i * 1.0625), $n + 1);
        }
        $em->persist($bill);
    }
    $em->flush();
    $em->clear();
    $found = $em->getRepository(Person::class)->findOneBy(['email' => 'ann@example.org']);
    show(get_class($found), $found->name, $found->grade, $found->salary, $found->seen->format('Y-m-d H:i:s.u'), (array) $found->address, $found->loaded);
    show($found->team->map(fn ($one) => [$one->name, $one->salary])->toArray(), $found->things->map(fn ($thing) => [get_class($thing), $thing->power ?? $thing->parts])->toArray());
});

step('unsigned', function () use ($em) {
    show($em->createQuery('SELECT MIN(b.id), MAX(b.id), COUNT(b) FROM Bill b')->getSingleResult());
    $em->getConnection()->insert('bill', ['id' => '18446744073709551000', 'to_id' => 1, 'made' => '2024-01-01', 'version' => 1]);
    show($em->find(Bill::class, '18446744073709551000')->state->name);
    show($em->getConnection()->delete('bill', ['id' => '18446744073709551000']));
    $em->clear();
});

step('find', function () use ($em) {
    $people = $em->getRepository(Person::class);
    show(array_map(fn ($one) => $one->name, $people->findBy(['address.town' => null], ['name' => 'DESC'], 3, 1)), $people->count([]), count($people->named('b')));
    show($people->findOneBy(['email' => 'DI@example.org'])->name, $em->getRepository(Guest::class)->findAll()[0]->until->format('Y-m-d'));
    $matching = $people->matching(Criteria::create()->where(Criteria::expr()->orX(Criteria::expr()->startsWith('name', 'B'), Criteria::expr()->in('id', [3, 5])))->orderBy(['id' => 'ASC']));
    show($matching->map(fn ($one) => $one->name)->toArray(), count($matching));
    $bob = $people->findOneBy(['name' => 'Bob']);
    show($bob->projects->count(), $bob->projects->contains($em->find(Project::class, 1)), array_map(fn ($project) => $project->title, $bob->projects->slice(0, 1)));
    show(array_keys($em->find(Project::class, 1)->members->toArray()));
    $bill = $em->find(Bill::class, 7);
    show($bill->lines->map(fn ($line) => [$line->number, $line->text, $line->price])->toArray(), $bill->to->name, $bill->lines->matching(Criteria::create()->where(Criteria::expr()->gt('count', 2)))->count());
    show($em->find(Line::class, ['bill' => 7, 'number' => 2])->price, $em->getReference(Person::class, 5)->name);
});

step('DQL', function () use ($em) {
    $query = fn (string $dql, array $parameters = []) => $em->createQuery($dql)->setParameters($parameters);
    show($query('SELECT b.state, p.name, SUM(l.price * l.count) AS sum, COUNT(DISTINCT b.id) AS n FROM Bill b JOIN b.to p LEFT JOIN b.lines l GROUP BY b.state, p.name HAVING COUNT(l.number) > :least ORDER BY sum DESC', ['least' => 2])->getScalarResult());
    show($query('SELECT NEW Total(p.name, COUNT(b), MAX(b.made)) FROM Bill b JOIN b.to p GROUP BY p.id ORDER BY p.id')->getResult());
    show($query('SELECT p.name, SIZE(p.members) AS n FROM Project q JOIN q.members p WHERE q.id = 1 ORDER BY p.name') ? 1 : 0);
    show($query('SELECT q.title, SIZE(q.members) AS n FROM Project q WHERE q.members IS NOT EMPTY ORDER BY q.title')->getArrayResult());
    show($query('SELECT e.name FROM Employee e WHERE EXISTS (SELECT q.id FROM Project q WHERE e MEMBER OF q.members AND q.title = ?1) ORDER BY e.name', [1 => 'Garden'])->getSingleColumnResult());
    show($query('SELECT p.id FROM Person p WHERE p INSTANCE OF Guest OR p.id IN (:ids) ORDER BY p.id', ['ids' => [1, 2]])->getSingleColumnResult());
    show($query("SELECT CONCAT(UPPER(p.name), '-', LENGTH(p.name)) AS a, SUBSTRING(p.email, 2, 3) AS b, LOCATE('@', p.email) AS c, TRIM(LEADING 'A' FROM p.name) AS d, MOD(p.id, 2) AS e, COALESCE(p.seen, CURRENT_DATE()) AS f, NULLIF(p.id, 3) AS g, CASE WHEN p.id < 3 THEN 'low' ELSE 'high' END AS h, ABS(p.id + 3) AS i, SQRT(p.id) AS j, BIT_AND(p.id, 1) AS k, BIT_OR(p.id, 8) AS l FROM Employee p WHERE p.seen IS NOT NULL OR p.id = 3 ORDER BY p.id")->getArrayResult() !== null);
    show($query("SELECT MOD(p.id, 2) AS e, NULLIF(p.id, 3) AS g, CASE WHEN p.id < 3 THEN 'low' ELSE 'high' END AS h, ABS(p.id + 3) AS i, SQRT(p.id) AS j, BIT_AND(p.id, 1) AS k, BIT_OR(p.id, 8) AS l FROM Person p ORDER BY p.id")->getScalarResult());
    show($query("SELECT b.id, DATE_ADD(b.made, 5, 'day') AS a, DATE_SUB(b.made, 1, 'month') AS c, DATE_DIFF(b.made, '2024-01-01') AS d FROM Bill b WHERE b.made BETWEEN :from AND :to ORDER BY b.id", ['from' => new DateTime('2024-03-04'), 'to' => new DateTime('2024-03-06 10:00:00')])->getScalarResult());
    show(array_map(fn ($bill) => [$bill->id, $bill->lines->isInitialized(), count($bill->lines)], $query('SELECT b, l, p FROM Bill b JOIN b.lines l WITH l.count > 1 JOIN b.to p WHERE b.id < 5 ORDER BY b.id')->getResult()));
    $em->clear();
    show($query('SELECT PARTIAL e.{id, name}, t FROM Employee e JOIN e.things t WHERE t INSTANCE OF Car')->getArrayResult());
    show($query('SELECT b FROM Bill b WHERE b.state = :state ORDER BY b.id', ['state' => State::Paid])->setMaxResults(2)->getResult());
    show($query('SELECT p.title FROM Project p WHERE p.part_of = :whole ORDER BY p.title', ['whole' => $em->getReference(Project::class, 1)])->getSingleColumnResult());
    $names = [];
    foreach ($query('SELECT p FROM Person p ORDER BY p.name')->toIterable() as $one) {
        $names[] = $one->name;
    }
    show($names);
    $builder = $em->createQueryBuilder()->select('p.name, COUNT(b.id) AS n')->from(Person::class, 'p')->leftJoin(Bill::class, 'b', 'WITH', 'b.to = p');
    show($builder->groupBy('p.id')->having($builder->expr()->gte('COUNT(b.id)', ':n'))->orderBy('n', 'DESC')->addOrderBy('p.id')->setParameter('n', 0)->getQuery()->getArrayResult());
});

step('native query', function () use ($em) {
    $mapping = new ResultSetMappingBuilder($em);
    $mapping->addRootEntityFromClassMetadata(Bill::class, 'b');
    $mapping->addScalarResult('place', 'place', 'integer');
    $found = $em->createNativeQuery("SELECT {$mapping->generateSelectClause()}, RANK() OVER (ORDER BY b.made DESC) AS place FROM bill b WHERE b.to_id = ? ORDER BY place LIMIT 3", $mapping)->setParameter(1, 5)->getResult();
    show(array_map(fn ($row) => [$row[0]->id, $row['place']], $found));
});

step('pages', function () use ($em) {
    foreach ([true, false] as $joined) {
        $page = new Paginator($em->createQuery('SELECT b, l FROM Bill b LEFT JOIN b.lines l ORDER BY b.made DESC, b.id')->setFirstResult(5)->setMaxResults(4), $joined);
        show(count($page), array_map(fn ($bill) => $bill->id, iterator_to_array($page)));
    }
    $page = new Paginator($em->createQuery('SELECT b, p FROM Bill b JOIN b.to p ORDER BY p.name, b.made DESC')->setMaxResults(3));
    $page->setUseOutputWalkers(true);
    show(count($page), array_map(fn ($bill) => $bill->id, iterator_to_array($page)));
});

step('change', function () use ($em) {
    $bill = $em->find(Bill::class, 3);
    $bill->state = State::Paid;
    $bill->lines->remove(2);
    $bill->add('a new one', '0.0001');
    $em->flush();
    show($bill->version, $em->createQuery('SELECT l.number, l.text FROM Line l WHERE l.bill = 3 ORDER BY l.number')->getScalarResult());
    show($em->createQuery('UPDATE Line l SET l.price = l.price + :more, l.text = CONCAT(l.text, :end) WHERE l.bill IN (SELECT b.id FROM Bill b WHERE b.made < :when)')->setParameters(['more' => '0.1', 'end' => '!', 'when' => new DateTime('2024-03-04')])->execute());
    show($em->createQuery('SELECT l.text, l.price FROM Line l WHERE l.bill < 4 ORDER BY l.bill, l.number')->getScalarResult());
    show($em->createQuery('UPDATE Employee e SET e.salary = e.salary * 2, e.grade = :grade WHERE e.boss IS NOT NULL')->setParameter('grade', 'senior')->execute());
    show($em->createQuery('UPDATE Car c SET c.power = c.power + 1 WHERE c.power > 5')->execute(), $em->createQuery('DELETE Car c WHERE c.power < 1')->execute());
    $em->clear();
    show(array_map(fn ($one) => [$one->name, $one->salary, $one->grade], $em->getRepository(Employee::class)->findBy([], ['id' => 'ASC'])), $em->getRepository(Car::class)->findAll()[0]->power);
    $bob = $em->getRepository(Person::class)->findOneBy(['name' => 'Bob']);
    $bob->name = 'Robert';
    $unit = $em->getUnitOfWork();
    $unit->computeChangeSets();
    show($unit->getEntityChangeSet($bob));
    $em->refresh($bob);
    show($bob->name);
});

step('bulk', function () use ($em, $db) {
    for ($i = 0; $i < 300; $i++) {
        $em->persist(new Guest("Guest $i"));
        if ($i % 50 === 49) {
            $em->flush();
            $em->clear();
        }
    }
    show($em->getRepository(Guest::class)->count([]), $db->fetchOne('SELECT MAX(id) FROM person'));
    $values = implode(', ', array_fill(0, 500, "('guest', ?, ?, NULL)"));
    $parameters = array_merge(...array_map(fn ($i) => ["Many $i", "many$i@example.org"], range(1, 500)));
    show($db->executeStatement("INSERT INTO person (kind, name, email, until) VALUES $values", $parameters));
    show($em->createQuery("DELETE Guest g WHERE g.name LIKE 'Guest 1%'")->execute(), $em->getRepository(Guest::class)->count([]));
});

step('upsert', function () use ($db) {
    $upsert = 'INSERT INTO project (title, extra) VALUES (?, ?) AS new ON DUPLICATE KEY UPDATE extra = JSON_MERGE_PATCH(project.extra, new.extra)';
    show($db->executeStatement($upsert, ['House', '{"budget": 5, "more": [1]}']), $db->executeStatement($upsert, ['Cellar', '{}']), $db->executeStatement($upsert, ['Cellar', '{}']));
    show($db->executeStatement('INSERT IGNORE INTO project (title) VALUES (?), (?)', ['House', 'Attic']), $db->executeStatement("REPLACE INTO project (title, extra) VALUES ('Attic', '[]')"));
    rows($db, 'SELECT title, extra FROM project ORDER BY title');
});

step('JSON', function () use ($em, $db) {
    $house = $em->getRepository(Project::class)->findOneBy(['title' => 'House']);
    show($house->extra);
    $house->extra = ['nested' => ['ü' => [1, 2.5, null, false, 'a"b\\c']], 'empty' => [], 'big' => PHP_INT_MAX];
    $em->flush();
    $em->clear();
    show($em->find(Project::class, $house->id)->extra);
    rows($db, "SELECT title, extra->>'$.nested.\"ü\"[1]', JSON_LENGTH(extra), JSON_TYPE(extra->'$.big'), JSON_SEARCH(extra, 'one', 'b') FROM project WHERE JSON_CONTAINS_PATH(extra, 'one', '$.nested', '$.tags') ORDER BY title");
    rows($db, "SELECT p.title, t.tag, t.n FROM project p, JSON_TABLE(p.extra, '$.tags[*]' COLUMNS (n FOR ORDINALITY, tag VARCHAR(10) PATH '$')) t WHERE JSON_CONTAINS(p.extra, ?, '$.tags') ORDER BY p.title, t.n", ['"c"']);
    rows($db, 'SELECT JSON_ARRAYAGG(title) IS NOT NULL, JSON_OBJECTAGG(title, id) FROM project WHERE id < 3');
});

step('transactions', function () use ($em, $db) {
    $em->wrapInTransaction(fn ($em) => $em->persist(new Project('kept')));
    refused(fn ($em) => $em->wrapInTransaction(function ($em) {
        $em->persist(new Project('lost'));
        $em->flush();
        throw new DomainException('undo');
    }));
    $db->setNestTransactionsWithSavepoints(true);
    $db->beginTransaction();
    $db->insert('project', ['title' => 'outer']);
    $db->beginTransaction();
    $db->insert('project', ['title' => 'inner']);
    show($db->getTransactionNestingLevel(), $db->isRollbackOnly());
    $db->rollBack();
    $db->createSavepoint('mine');
    $db->insert('project', ['title' => 'after']);
    $db->rollbackSavepoint('mine');
    fails(fn () => $db->releaseSavepoint('other'));
    $db->beginTransaction();
    $db->insert('project', ['title' => 'inner 2']);
    $db->commit();
    $db->commit();
    $db->setNestTransactionsWithSavepoints(false);
    $db->beginTransaction();
    $db->beginTransaction();
    $db->rollBack();
    fails(fn () => $db->commit());
    $db->rollBack();
    rows($db, "SELECT title FROM project WHERE title IN ('kept', 'lost', 'outer', 'inner', 'after', 'inner 2') ORDER BY title");
});

step('isolation', function () use ($db) {
    $other = connection();
    foreach (['READ_UNCOMMITTED', 'READ_COMMITTED', 'REPEATABLE_READ'] as $name) {
        $db->setTransactionIsolation(constant(TransactionIsolationLevel::class . "::$name"));
        $db->beginTransaction();
        $seen = [$db->fetchOne("SELECT COUNT(*) FROM project WHERE title LIKE 'iso%'")];
        $other->beginTransaction();
        $other->insert('project', ['title' => "iso $name"]);
        $seen[] = $db->fetchOne("SELECT COUNT(*) FROM project WHERE title LIKE 'iso%'");
        $other->commit();
        $seen[] = $db->fetchOne("SELECT COUNT(*) FROM project WHERE title LIKE 'iso%'");
        $db->commit();
        show($name, $seen, $db->fetchOne('SELECT @@transaction_isolation'));
    }
});

step('optimistic locks', function () {
    $first = manager();
    $second = manager();
    $mine = $first->find(Bill::class, 10);
    $other = $second->find(Bill::class, 10, LockMode::OPTIMISTIC, 1);
    $mine->note = 'mine';
    $first->flush();
    $other->note = 'other';
    fails(fn () => $second->flush());
    refused(fn ($em) => $em->find(Bill::class, 10, LockMode::OPTIMISTIC, 1));
    $third = manager();
    $bill = $third->find(Bill::class, 10);
    $third->lock($bill, LockMode::OPTIMISTIC, 2);
    $third->remove($bill);
    $mine->note = 'again';
    $third->flush();
    fails(fn () => $first->flush());
});

step('pessimistic locks', function () {
    $first = manager();
    $second = manager();
    $second->getConnection()->executeStatement('SET innodb_lock_wait_timeout = 1');
    $first->beginTransaction();
    $second->beginTransaction();
    $first->find(Bill::class, 11, LockMode::PESSIMISTIC_WRITE);
    $first->find(Bill::class, 12, LockMode::PESSIMISTIC_READ);
    show($second->find(Bill::class, 12, LockMode::PESSIMISTIC_READ)->id);
    fails(fn () => $second->createQuery('SELECT b FROM Bill b WHERE b.id = 11')->setLockMode(LockMode::PESSIMISTIC_READ)->getResult());
    fails(fn () => $second->getConnection()->update('bill', ['note' => 'x'], ['id' => 12]));
    rows($second->getConnection(), 'SELECT id FROM bill WHERE id BETWEEN 11 AND 14 FOR UPDATE SKIP LOCKED');
    fails(fn () => $second->getConnection()->fetchOne('SELECT id FROM bill WHERE id = 11 FOR SHARE NOWAIT'));
    $first->commit();
    show($second->find(Bill::class, 11, LockMode::PESSIMISTIC_WRITE)->id);
    $second->rollback();
    refused(fn ($em) => $em->find(Bill::class, 11, LockMode::PESSIMISTIC_WRITE));
});

step('deadlock', function () use ($db) {
    // The child has changed more rows; the parent is chosen.
    [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $db->close();
    if (!($child = pcntl_fork())) {
        fclose($here);
        try {
            $mine = connection();
            $mine->beginTransaction();
            $mine->executeStatement("UPDATE person SET name = CONCAT(name, '!') WHERE name LIKE 'Many 2%'");
            $mine->executeStatement("UPDATE project SET title = 'Roof!' WHERE title = 'Roof'");
            fwrite($there, "r\n");
            fgets($there);
            $mine->executeStatement("UPDATE project SET title = 'Garden!' WHERE title = 'Garden'");
            $mine->commit();
        } finally {
            posix_kill(getmypid(), SIGKILL);
        }
    }
    fclose($there);
    fgets($here);
    $db->beginTransaction();
    $db->executeStatement("UPDATE project SET title = 'Garden?' WHERE title = 'Garden'");
    fwrite($here, "g\n");
    usleep(300000);
    try {
        $db->executeStatement("UPDATE project SET title = 'Roof?' WHERE title = 'Roof'");
    } catch (RetryableException $error) {
        show(get_class($error), $error->getCode(), $error->getSQLState());
    }
    $db->rollBack();
    pcntl_waitpid($child, $status);
    rows($db, "SELECT title FROM project WHERE title LIKE 'Roof%' OR title LIKE 'Garden%' ORDER BY title");
});

step('errors', function () {
    refused(function ($em) { $em->persist(new Project('House')); $em->flush(); });
    refused(function ($em) { $em->persist(new Employee('x', 'ANN@example.org')); $em->flush(); });
    refused(function ($em) { $em->persist(new Bill($em->getReference(Employee::class, 4711), '2024-01-01')); $em->flush(); });
    refused(function ($em) { $em->remove($em->getRepository(Person::class)->findOneBy(['name' => 'Eve'])); $em->flush(); });
    refused(function ($em) { $guest = new Guest(str_repeat('x', 101), 'y'); $em->persist($guest); $em->flush(); });
    refused(fn ($em) => $em->getConnection()->insert('project', ['title' => null]));
    refused(fn ($em) => $em->getConnection()->insert('project', ['extra' => '{}']));
    refused(fn ($em) => $em->getConnection()->insert('project', ['title' => 'bad', 'extra' => '{"a": }']));
    refused(fn ($em) => $em->getConnection()->update('person', ['grade' => 'boss'], ['id' => 1]));
    refused(fn ($em) => $em->getConnection()->update('person', ['salary' => -1], ['id' => 1]));
    refused(fn ($em) => $em->getConnection()->update('person', ['salary' => '100000000'], ['id' => 1]));
    refused(fn ($em) => $em->getConnection()->update('person', ['until' => '2024-02-30'], ['id' => 1]));
    refused(fn ($em) => $em->getConnection()->fetchOne('SELECT * FROM nowhere'));
    refused(fn ($em) => $em->getConnection()->fetchOne('SELECT colour FROM project'));
    refused(fn ($em) => $em->getConnection()->fetchOne('SELECT id FROM project a, project b'));
    refused(fn ($em) => $em->getConnection()->fetchOne('SELECT id id FROM project GROUP BY title, nothing('));
    refused(fn ($em) => $em->getConnection()->executeStatement('CREATE TABLE project (id INT)'));
    refused(fn ($em) => $em->getConnection()->executeStatement('CREATE TABLE twice (id INT, id INT)'));
    refused(fn ($em) => $em->getConnection()->executeStatement('DROP TABLE nowhere'));
    refused(fn ($em) => $em->getConnection()->executeStatement('DROP TABLE person'));
    refused(fn ($em) => $em->getConnection()->executeStatement('USE nowhere'));
    refused(fn ($em) => $em->getConnection()->createSchemaManager()->dropDatabase('nowhere'));
    refused(fn ($em) => $em->createQuery('SELECT b FROM Bill b')->getSingleResult());
    refused(fn ($em) => $em->createQuery('SELECT b FROM Bill b WHERE b.id = 0')->getSingleResult());
    refused(fn ($em) => $em->createQuery('SELECT b.colour FROM Bill b')->getResult());
    refused(fn ($em) => DriverManager::getConnection(['driver' => 'pdo_mysql', 'dbname' => 'nowhere'] + $em->getConnection()->getParams())->connect());
});

step('delete', function () use ($em) {
    $em->clear();
    $ann = $em->getRepository(Person::class)->findOneBy(['email' => 'ann@example.org']);
    foreach ($em->getRepository(Bill::class)->findBy(['to' => $ann]) as $bill) {
        $em->remove($bill);
    }
    $em->remove($ann);
    $em->flush();
    show($em->getRepository(Thing::class)->count([]), $em->getRepository(Bill::class)->count([]), $em->createQuery('SELECT COUNT(l.number) FROM Line l')->getSingleScalarResult());
    $em->clear();
    show($em->getRepository(Employee::class)->findOneBy(['email' => 'bob@example.org'])->boss);
    $em->remove($em->getRepository(Project::class)->findOneBy(['title' => 'Garden!']));
    $em->flush();
    rows($em->getConnection(), 'SELECT * FROM project_employee ORDER BY 1, 2');
});

step('every type', function () use ($db) {
    $schema = new Schema([], [], $db->createSchemaManager()->createSchemaConfig());
    $table = $schema->createTable('kinds');
    $table->addColumn('id', Types::BIGINT, ['autoincrement' => true, 'unsigned' => true]);
    $table->setPrimaryKey(['id']);
    $types = array_diff(array_keys(Type::getTypesMap()), [Types::ARRAY, Types::OBJECT, 'micro_time', 'grade']);
    foreach ($types as $type) {
        $table->addColumn("c_$type", $type, ['notnull' => false, 'length' => in_array($type, ['string', 'binary', 'ascii_string']) ? 50 : null]);
    }
    $table->addColumn('fixed', Types::STRING, ['length' => 5, 'fixed' => true, 'default' => "it's", 'customSchemaOptions' => ['collation' => 'utf8mb4_bin']]);
    $table->addColumn('raw', Types::BINARY, ['length' => 16, 'fixed' => true, 'notnull' => false]);
    $table->addColumn('small', Types::TEXT, ['length' => 255, 'notnull' => false]);
    $table->addColumn('middle', Types::BLOB, ['length' => 70000, 'notnull' => false]);
    $table->addColumn('made', Types::DATETIME_MUTABLE, ['default' => 'CURRENT_TIMESTAMP']);
    $table->addColumn('flag', Types::BOOLEAN, ['default' => true]);
    $table->addColumn('part', Types::FLOAT, ['default' => -1.5, 'comment' => 'a "part"']);
    $table->addColumn('money', Types::DECIMAL, ['precision' => 20, 'scale' => 6, 'default' => '0.5', 'unsigned' => true]);
    $table->addIndex(['c_string', 'money'], 'two', [], ['lengths' => [10, null]]);
    $table->addUniqueIndex(['c_guid']);
    foreach ($schema->toSql($db->getDatabasePlatform()) as $sql) {
        $db->executeStatement($sql);
    }
    $manager = $db->createSchemaManager();
    described($manager->introspectTable('kinds'));
    $changes = $manager->createComparator()->compareTables($manager->introspectTable('kinds'), $table);
    show($changes->isEmpty());
    $now = new DateTimeImmutable('2024-02-29 23:59:58.123456+00:00');
    $values = ['c_ascii_string' => 'abc', 'c_bigint' => '-9223372036854775808', 'c_binary' => "\x00\xff'", 'c_blob' => "b\x00'\\", 'c_boolean' => true, 'c_date' => $now, 'c_datetime' => DateTime::createFromImmutable($now),
        'c_dateinterval' => new DateInterval('P1Y2M3DT4H5M6S'), 'c_decimal' => '1234567890', 'c_float' => 1e300, 'c_guid' => '6c84fb90-12c4-11e1-840d-7b25c5ee775a', 'c_integer' => -2147483648, 'c_json' => ['a' => 1.0, 'ü' => [null]],
        'c_simple_array' => ['a', 'b'], 'c_smallint' => -32768, 'c_string' => 'ü 🙂', 'c_text' => str_repeat('t', 70000), 'c_time' => DateTime::createFromImmutable($now), 'raw' => "\x00abc", 'small' => 'x', 'middle' => str_repeat("\xff", 300), 'made' => $now];
    $kinds = ['raw' => Types::BINARY, 'small' => Types::TEXT, 'middle' => Types::BLOB, 'made' => Types::DATETIME_IMMUTABLE, 'c_date' => Types::DATE_IMMUTABLE];
    $bound = array_combine(array_keys($values), array_map(fn ($name) => $kinds[$name] ?? substr($name, 2), array_keys($values)));
    show($db->insert('kinds', $values, $bound), $db->lastInsertId());
    foreach (['pdo_mysql', 'mysqli'] as $driver) {
        $other = connection($driver);
        foreach ($other->fetchAssociative('SELECT * FROM kinds') as $name => $value) {
            $read = isset($bound[$name]) ? $other->convertToPHPValue($value, $bound[$name]) : null;
            $read = is_resource($read) ? bin2hex(stream_get_contents($read)) : $read;
            $read = $read instanceof DateInterval ? $read->format('%y %m %d %h %i %s') : $read;
            $value = is_string($value) && !mb_check_encoding($value, 'UTF-8') ? bin2hex($value) : $value;
            show($driver, $name, strlen($value ?? '') > 100 ? md5($value) : $value, $read instanceof DateTimeInterface ? $read->format('c') : (is_string($read) && (strlen($read) > 100 || !mb_check_encoding($read, 'UTF-8')) ? md5($read) : $read));
        }
    }
});

step('columns of the server', function () use ($db) {
    // What only SQL can make.
    $db->executeStatement("CREATE TABLE odd (
        a TINYINT, b MEDIUMINT UNSIGNED, c BIT(5), d YEAR DEFAULT 2024, e FLOAT(7,3), f REAL UNSIGNED, g NUMERIC(65,30) DEFAULT -1.5,
        h TIMESTAMP(3) NULL ON UPDATE CURRENT_TIMESTAMP(3), i TIME(2), j TINYBLOB, k MEDIUMTEXT CHARACTER SET latin1, l LONGBLOB,
        m VARBINARY(300), n ENUM('a', 'it''s', ''), o SET('x', 'y z') DEFAULT 'x', p NCHAR(3), q JSON DEFAULT (JSON_ARRAY()),
        r INT GENERATED ALWAYS AS (a + 1) STORED, s VARCHAR(20) AS (CONCAT(p, p)) VIRTUAL COMMENT 'made', t INT INVISIBLE,
        u DATETIME DEFAULT NOW() ON UPDATE NOW(), v VARCHAR(40) DEFAULT (UUID()), w BOOL DEFAULT TRUE, x CHAR(0),
        y DOUBLE(10,2) ZEROFILL, z SERIAL, KEY dir (a DESC, b), UNIQUE KEY parts (k(5), m(7)),
        KEY hidden (d) INVISIBLE COMMENT 'unused', CONSTRAINT odd_a CHECK (a > 0)
    ) COMMENT 'odd ones'");
    show(explode("\n", $db->fetchNumeric('SHOW CREATE TABLE odd')[1]));
    $manager = $db->createSchemaManager();
    foreach (['bit' => 'integer', 'year' => 'integer'] as $theirs => $ours) {
        $db->getDatabasePlatform()->registerDoctrineTypeMapping($theirs, $ours);
    }
    described($manager->introspectTable('odd'));
    $db->insert('odd', ['a' => 5, 'c' => 21, 'e' => '1.2345', 'n' => "it's", 'i' => '-100:00:00.125', 'p' => 'äöü', 'm' => 'bytes'], ['c' => ParameterType::INTEGER]);
    show($db->fetchAssociative('SELECT a, b, d, e, f, g, h, i, n, o, p, q, r, s, w, x, y, z, LENGTH(v) FROM odd'));
    $manager->dropTable('odd');
});

step('alter', function () use ($db) {
    $manager = $db->createSchemaManager();
    $from = $manager->introspectSchema();
    $to = clone $from;
    $kinds = $to->getTable('kinds');
    $kinds->addColumn('added', Types::INTEGER, ['unsigned' => true, 'default' => 7, 'comment' => 'new']);
    $kinds->dropColumn('c_float');
    $kinds->changeColumn('small', ['type' => Type::getType(Types::STRING), 'length' => 300, 'notnull' => true, 'default' => 'd']);
    $kinds->dropIndex('two');
    $kinds->addIndex(['made', 'flag'], 'made_flag');
    $kinds->renameIndex('made_flag', 'by_time');
    $other = $to->createTable('other');
    $other->addColumn('id', Types::INTEGER, ['autoincrement' => true]);
    $other->addColumn('kind_id', Types::BIGINT, ['unsigned' => true]);
    $other->setPrimaryKey(['id']);
    $other->addForeignKeyConstraint($kinds, ['kind_id'], ['id'], ['onDelete' => 'CASCADE', 'onUpdate' => 'RESTRICT'], 'to_kind');
    $other->addOption('collate', 'utf8mb4_bin');
    $statements = $manager->createComparator()->compareSchemas($from, $to);
    foreach ($db->getDatabasePlatform()->getAlterSchemaSQL($statements) as $sql) {
        show($sql);
        $db->executeStatement($sql);
    }
    $again = $manager->createComparator()->compareSchemas($manager->introspectSchema(), $to);
    show($db->getDatabasePlatform()->getAlterSchemaSQL($again));
    described($manager->introspectTable('other'));
    $manager->renameTable('other', 'another');
    $manager->dropForeignKey('to_kind', 'another');
    show($manager->tablesExist(['another', 'kinds']), $manager->tablesExist(['other']));
    $manager->createView(new Doctrine\DBAL\Schema\View('shown', 'SELECT id, c_string FROM kinds'));
    show(array_map(fn ($view) => $view->getName(), array_values($manager->listViews())), $db->fetchAllKeyValue('SELECT * FROM shown'));
    $manager->dropView('shown');
    $manager->dropTable('another');
});

step('database layer', function () {
    foreach (['pdo_mysql', 'mysqli'] as $driver) {
        $db = connection($driver);
        show(get_class($db->getDatabasePlatform()), $db->getDatabase(), $db->quote("it's \\ \"q\""), $db->fetchOne('SELECT ' . $db->quote("it's \\ \"q\"")));
        show($db->fetchAllAssociativeIndexed('SELECT id, title FROM project WHERE title IN (?) ORDER BY id', [['House', 'Attic']], [Connection::PARAM_STR_ARRAY]));
        show($db->fetchFirstColumn('SELECT title FROM project WHERE id > :id AND title <> :no ORDER BY id LIMIT 2', ['id' => 1, 'no' => 'x'], ['id' => ParameterType::INTEGER]));
        $builder = $db->createQueryBuilder();
        show($builder->select('p.kind', 'COUNT(*) n', 'MIN(p.name) low')->from('person', 'p')->leftJoin('p', 'bill', 'b', 'b.to_id = p.id')->where($builder->expr()->like('p.name', ':n'))->groupBy('p.kind')->orderBy('n')->setParameter('n', '%i%')->executeQuery()->fetchAllAssociative());
        $statement = $db->prepare('SELECT ? AS a, ? AS b, ? AS c');
        $statement->bindValue(1, 5, ParameterType::INTEGER);
        $statement->bindValue(2, null);
        $statement->bindValue(3, "\x00\xff", ParameterType::LARGE_OBJECT);
        $row = $statement->executeQuery()->fetchAssociative();
        show($row['a'], $row['b'], bin2hex($row['c']));
        show($db->update('project', ['extra' => ['n' => 1]], ['title' => 'Attic'], ['extra' => Types::JSON]), $db->update('project', ['extra' => ['n' => 1]], ['title' => 'Attic'], ['extra' => Types::JSON]));
        $result = $db->executeQuery('SELECT id, title FROM project WHERE id < 4');
        show($result->columnCount(), $result->rowCount());
        show($db->transactional(fn ($db) => $db->executeStatement('UPDATE project SET part_of_id = NULL WHERE part_of_id IS NOT NULL')) >= 0);
    }
});

step('drop', function () use ($tool, $db, $classes) {
    $db->createSchemaManager()->dropTable('kinds');
    show($tool->getDropSchemaSQL($classes));
    $tool->dropSchema($classes);
    show($db->createSchemaManager()->listTableNames());
});
