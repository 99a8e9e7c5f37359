<?php
// A library with Eloquent: migrations, models, relations, queries, transactions, locks, errors.

require 'steps.php';
require 'Illuminate/Database/autoload.php';
require 'models.php';

use Illuminate\Database\Capsule\Manager as DB;
use Illuminate\Database\Eloquent\Relations\Relation;
use Illuminate\Database\Migrations\DatabaseMigrationRepository;
use Illuminate\Database\Migrations\Migrator;
use Illuminate\Database\Schema\Blueprint;
use Illuminate\Filesystem\Filesystem;
use Illuminate\Pagination\Cursor;
use Illuminate\Pagination\Paginator;
use Illuminate\Support\Carbon;

[, $host, $port, $user, $database] = $argv;
date_default_timezone_set('UTC');
Carbon::setTestNow('2024-05-06 07:08:09.123456');

$settings = [
    'driver' => 'mysql', 'host' => $host, 'port' => (int) $port, 'database' => $database, 'username' => $user,
    'password' => '', 'charset' => 'utf8mb4', 'collation' => 'utf8mb4_unicode_ci', 'prefix' => '',
    'strict' => true, 'timezone' => '+00:00', 'isolation_level' => 'REPEATABLE READ',
];
$capsule = new DB();
$capsule->addConnection($settings);
$capsule->addConnection($settings, 'second');
$capsule->addConnection(['options' => [PDO::ATTR_EMULATE_PREPARES => true]] + $settings, 'emulated');
$capsule->setEventDispatcher(new Illuminate\Events\Dispatcher());
$capsule->setAsGlobal();
$capsule->bootEloquent();
$repository = new DatabaseMigrationRepository($capsule->getDatabaseManager(), 'migrations');
$migrator = new Migrator($repository, $capsule->getDatabaseManager(), new Filesystem());
Relation::morphMap(['author' => Author::class, 'book' => Book::class]);

/** The definition of each table, as the server shows it. */
function definitions(): void
{
    $names = array_map(fn ($row) => array_values((array) $row)[0], DB::schema()->getAllTables());
    sort($names);
    foreach ($names as $name) {
        show(explode("\n", array_values((array) DB::selectOne("SHOW CREATE TABLE `$name`"))[1]));
    }
}

step('migrate', function () use ($repository, $migrator) {
    $repository->createRepository();
    show($migrator->hasRunAnyMigrations());
    show(array_map('basename', $migrator->run('migrations', ['step' => true])));
    show($repository->getMigrationBatches());
    definitions();
});

step('roll back and migrate again', function () use ($repository, $migrator) {
    show(array_map('basename', $migrator->rollback('migrations', ['step' => 1])));
    definitions();
    show(array_map('basename', $migrator->run('migrations')), $repository->getMigrationBatches());
    show(array_map('basename', $migrator->reset(['migrations'])), $repository->getRan());
    show(DB::schema()->hasTable('books'));
    $migrator->run('migrations');
});

step('look at the schema', function () {
    foreach (['authors', 'books', 'members', 'loans'] as $name) {
        $columns = DB::schema()->getColumnListing($name);
        sort($columns);
        foreach ($columns as $column) {
            // What changes columns knows no types of these.
            show($column, in_array($column, ['kind', 'flags', 'year']) ? null : DB::schema()->getColumnType($name, $column));
        }
        $manager = DB::connection()->getDoctrineSchemaManager();
        $indexes = $manager->listTableIndexes($name);
        ksort($indexes);
        foreach ($indexes as $index) {
            show($index->getName(), $index->getColumns(), $index->isUnique(), $index->isPrimary(), $index->getOptions());
        }
        foreach ($manager->listTableForeignKeys($name) as $key) {
            show($key->getName(), $key->getLocalColumns(), $key->getForeignTableName(), $key->getForeignColumns(), $key->getOptions());
        }
    }
    show(DB::schema()->hasColumns('books', ['isbn', 'title']), DB::schema()->hasColumn('books', 'colour'));
});

step('create', function () {
    $ann = Author::create(['name' => 'Ann É 🙂', 'email' => 'ann@example.org', 'born' => '1960-02-29',
        'about' => ['langs' => ['de', 'fr'], 'prizes' => [['year' => 1999, 'sum' => 12.5]], 'ü' => null, 'slash' => 'a\\b"c']]);
    show($ann->id, $ann->wasRecentlyCreated, $ann->fresh()->toArray());
    $bob = Author::create(['name' => 'Bob', 'email' => 'bob@example.org', 'kind' => 'Other one']);
    foreach (range(1, 30) as $i) {
        $book = ($i % 3 ? $ann : $bob)->books()->create(['isbn' => sprintf('97800000%05d', $i), 'title' => "Book $i of it's 100% \\ kind",
            'year' => 1990 + $i, 'price' => $i * 1.15, 'weight' => $i / 7, 'extra' => ['pages' => $i * 10, 'tags' => [$i % 2 ? 'odd' : 'even']], 'copies' => $i]);
    }
    show($book->id, $book->refresh()->toArray(), $book->label);
    $first = Member::create(['code' => '6c84fb90-12c4-11e1-840d-7b25c5ee775a', 'name' => 'Cy', 'secret' => "\x00\xff'\\\n", 'seen_at' => '2024-02-29 01:02:03.456789', 'address' => '2001:db8::1', 'flags' => 'a,c']);
    Member::create(['code' => '6c84fb91-12c4-11e1-840d-7b25c5ee775a', 'name' => 'Di', 'sponsor_code' => $first->code, 'points' => -5]);
    show(Member::find($first->code)->toArray(), bin2hex(Member::find($first->code)->secret), Member::find($first->code)->seen_at->format('u'));
});

step('insert in bulk', function () {
    show(Word::insert(array_map(fn ($i) => ['word' => "word $i"], range(1, 500))), Word::count(), Word::max('id'));
    show(DB::table('words')->insertOrIgnore([['word' => 'word 1'], ['word' => 'WORD 2'], ['word' => 'new']]));
    show(DB::table('words')->insertGetId(['word' => 'newer']) > 500);
    show(DB::table('words')->insertUsing(['word'], DB::table('books')->select(DB::raw("concat('b ', id)"))->where('id', '<', 4)));
    show(Word::where('word', 'like', 'b %')->orderBy('word')->pluck('word'));
});

step('upsert', function () {
    show(Author::upsert([['email' => 'bob@example.org', 'name' => 'Bob B.'], ['email' => 'eve@example.org', 'name' => 'Eve']], ['email'], ['name']));
    show(DB::table('words')->upsert([['word' => 'word 3'], ['word' => 'w']], 'word'));
    show(DB::table('authors')->updateOrInsert(['email' => 'eve@example.org'], ['kind' => 'editor']));
    $found = Author::firstOrCreate(['email' => 'eve@example.org'], ['name' => 'other']);
    $made = Author::updateOrCreate(['email' => 'fay@example.org'], ['name' => 'Fay']);
    show($found->wasRecentlyCreated, $made->wasRecentlyCreated, Author::firstOrNew(['email' => 'no@example.org'])->exists);
    show(Author::orderBy('id')->get(['name', 'email', 'kind', 'about'])->toArray());
});

step('relations', function () {
    $words = Word::whereIn('word', ['word 1', 'word 2', 'word 3'])->orderBy('id')->get();
    foreach (Book::orderBy('id')->limit(6)->get() as $i => $book) {
        $book->words()->attach($words->take($i % 4)->pluck('id')->mapWithKeys(fn ($id, $n) => [$id => ['rank' => 10 - $n]]));
        $book->remarks()->create(['text' => "about $book->id"]);
        $book->loans()->create(['member_code' => '6c84fb90-12c4-11e1-840d-7b25c5ee775a', 'taken' => "2024-01-0$book->id"]);
    }
    Author::first()->remarks()->create(['text' => 'a great one']);
    show(Book::find(4)->words->map(fn ($word) => [$word->word, $word->pivot->rank]));
    show(Book::find(4)->words()->sync([$words[0]->id => ['rank' => 5], $words[2]->id]));
    show(Book::find(4)->words()->toggle([$words[0]->id, $words[1]->id]), Book::find(4)->words()->detach());
    show(Author::with(['books' => fn ($query) => $query->where('price', '<', 5)->orderBy('id'), 'books.words', 'newest'])->orderBy('id')->get()
        ->map(fn ($author) => [$author->name, optional($author->newest)->title, $author->books->map(fn ($book) => [$book->title, $book->words->pluck('word')])]));
    show(Author::withCount(['books', 'books as cheap_count' => fn ($query) => $query->cheap(10), 'loans'])->withSum('books', 'price')->withMax('books', 'year')->withAvg('books', 'weight')->withExists('remarks')
        ->orderBy('id')->get()->makeHidden(['created_at', 'updated_at', 'about'])->toArray());
    show(Remark::with('subject')->orderBy('id')->get()->map(fn ($remark) => [$remark->text, class_basename($remark->subject), $remark->subject->name ?? $remark->subject->title]));
    show(Remark::whereHasMorph('subject', [Book::class], fn ($query) => $query->where('year', '>', 1994))->count());
    show(Author::has('books', '>', 12)->pluck('name'), Author::doesntHave('books')->orderBy('id')->pluck('name'));
    show(Book::whereHas('words', fn ($query) => $query->where('word', 'word 2'))->orderBy('id')->pluck('id'), Member::has('sponsor')->pluck('name'), Member::withCount('sponsored')->orderBy('name')->pluck('sponsored_count'));
    show(Book::make(['title' => 'x'])->author->name, Author::first()->loans()->count());
});

step('query', function () {
    show(Book::cheap()->where('year', '>=', 2000)->where(fn ($query) => $query->where('lent', true)->orWhere('copies', '<', 13))->orderByDesc('price')->pluck('price', 'id'));
    show(DB::table('books')->join('authors', 'authors.id', '=', 'books.author_id')->groupBy('authors.name')->havingRaw('count(*) > ?', [5])
        ->selectRaw('authors.name, count(*) as n, sum(price) as sum, avg(price) as avg, min(title) as first')->orderBy('n')->get());
    show(DB::table('books')->leftJoinSub(DB::table('loans')->selectRaw('book_id, max(taken) as last')->groupBy('book_id'), 'l', 'l.book_id', '=', 'books.id')
        ->whereBetween('books.id', [4, 8])->orderBy('books.id')->get(['books.id', 'last']));
    show(DB::table('authors')->select('name')->where('id', 1)->union(DB::table('words')->select('word')->where('word', 'new'))->unionAll(DB::table('members')->select('name'))->orderBy('name')->get());
    show(Book::whereDate('created_at', '2024-05-06')->count(), Loan::whereMonth('taken', '1')->whereDay('taken', '>', 3)->count(), Loan::whereYear('taken', 2024)->count(), Member::whereTime('seen_at', '01:02:03.456789')->count());
    show(Book::whereColumn('copies', '>', 'year')->exists(), Book::whereNotIn('id', range(2, 30))->sole()->id, Book::where('title', 'like', "%it's 100\\%%")->count(), Book::where('title', 'like', '%\\\\\\\\%')->count());
    show(Book::addSelect(['writer' => Author::select('name')->whereColumn('authors.id', 'books.author_id')->limit(1)])->orderBy('writer')->orderBy('id')->limit(2)->get()->pluck('writer'));
    show(Author::orderBy(Book::select('year')->whereColumn('author_id', 'authors.id')->latest('year')->limit(1), 'desc')->orderBy('id')->pluck('name'));
    show(DB::select('select id, rank() over (partition by author_id order by price desc) as r from books where id in (?, ?, ?) order by id', [1, 2, 3]));
    show(Book::inRandomOrder('7')->limit(3)->get()->count(), Book::distinct()->count('author_id'), DB::table('books')->average('price'), DB::table('books')->max('total'), Book::where('short', 'Book 7 of ')->value('id'));
    show(Book::when(true, fn ($query) => $query->whereRaw('price > copies'))->oldest('id')->skip(2)->take(2)->pluck('id'));
});

step('json', function () {
    show(Author::where('about->langs', '!=', null)->pluck('name'), Author::whereJsonContains('about->langs', 'fr')->count(), Author::whereJsonContains('about->langs', ['de', 'fr'])->count(), Author::whereJsonDoesntContain('about->langs', 'it')->count());
    show(Author::whereJsonLength('about->langs', '>', 1)->count(), Author::whereNull('about->ü')->orderBy('id')->pluck('name'), Author::where('about->prizes[0]->year', 1999)->value('name'));
    show(Book::where('extra->pages', '>', 270)->orderBy('id')->get(['id', 'extra->pages as pages'])->pluck('pages', 'id'), Book::where('extra->tags[0]', 'odd')->count(), Book::orderByDesc('extra->pages')->value('id'));
    show(Book::where('id', 1)->update(['extra->pages' => 7, 'extra->more' => ['a' => [1, true]], 'extra->on' => true]), Book::find(1)->extra);
    show(DB::table('books')->where('extra->on', true)->pluck('id'), DB::table('books')->where('id', 1)->value('extra'));
    Author::where('id', 1)->first()->forceFill(['about->langs' => ['it']])->save();
    show(DB::table('authors')->where('id', 1)->value('about'));
});

step('change', function () {
    show(Book::where('id', '<', 5)->increment('copies', 2, ['lent' => true]), Book::find(1)->decrement('copies'), Book::find(1)->only('copies', 'lent', 'total'));
    $book = Book::find(2);
    $book->title = 'renamed';
    show($book->isDirty(), $book->getDirty(), $book->save(), $book->wasChanged('title'), $book->save());
    show(Book::where('author_id', 2)->orderBy('id', 'desc')->limit(3)->update(['weight' => null]), Book::whereNull('weight')->orderBy('id')->pluck('id'));
    show(DB::table('books')->join('authors', 'authors.id', '=', 'books.author_id')->where('authors.name', 'Bob B.')->update(['books.price' => DB::raw('books.price + 1')]));
    show(DB::update('update books set price = ? where id = ?', ['7.50', 3]), DB::update('update books set price = ? where id = ?', ['7.50', 3]), DB::affectingStatement('delete from words where word like ?', ['b %']));
    show(DB::table('words')->join('book_word', 'words.id', '=', 'book_word.word_id')->where('book_id', 6)->where('rank', 9)->delete());
    $copy = Book::find(5)->replicate(['total', 'short'])->fill(['isbn' => 'copy']);
    show($copy->push(), $copy->refresh()->only('title', 'total', 'isbn'));
    show(Loan::first()->update(['returned' => '2024-03-01']), Loan::first()->returned->toDateString(), Loan::first()->book->updated_at->toDateTimeString());
});

step('delete softly', function () {
    Book::find(7)->delete();
    show(Book::count(), Book::withTrashed()->count(), Book::onlyTrashed()->pluck('id'), Book::find(7));
    show(Book::where('id', '>', 28)->delete(), Book::onlyTrashed()->restore(), Book::destroy([8, 9]));
    Book::withTrashed()->find(7)->forceDelete();
    show(Book::withTrashed()->whereIn('id', [7, 8, 9])->orderBy('id')->pluck('deleted_at', 'id'));
    Book::onlyTrashed()->restore();
});

step('pages and pieces', function () {
    $page = Book::orderBy('id')->paginate(10, ['id'], 'page', 3);
    show($page->total(), $page->lastPage(), $page->pluck('id'));
    show(Book::orderByDesc('price')->simplePaginate(4, ['id'], 'page', 2)->pluck('id'));
    $page = Book::orderBy('year')->orderBy('id', 'desc')->cursorPaginate(5, ['id', 'year']);
    $next = Book::orderBy('year')->orderBy('id', 'desc')->cursorPaginate(5, ['id', 'year'], 'cursor', $page->nextCursor());
    show($page->pluck('id'), $next->pluck('id'), $next->previousCursor()->toArray());
    show(Book::join('authors', 'authors.id', '=', 'books.author_id')->groupBy('authors.id')->selectRaw('authors.id as a, count(*) as n')->orderBy('a')->paginate(1)->total());
    $sizes = [];
    Book::orderBy('id')->chunk(12, function ($books) use (&$sizes) { $sizes[] = $books->count(); });
    Book::chunkById(11, function ($books) use (&$sizes) { $sizes[] = $books->last()->id; });
    show($sizes, Book::lazy(7)->count(), Book::lazyByIdDesc(9)->first()->id);
    $read = 0;
    foreach (Word::orderBy('id')->cursor() as $word) {
        $read += strlen($word->word);
    }
    show($read);
});

step('transactions', function () {
    $before = Word::count();
    DB::transaction(function () { Word::create(['word' => 'in one']); });
    fails(fn () => DB::transaction(function () {
        Word::create(['word' => 'never']);
        throw new DomainException('undo');
    }));
    DB::beginTransaction();
    Word::create(['word' => 'outer']);
    try {
        DB::transaction(function () {
            Word::create(['word' => 'inner']);
            show(DB::transactionLevel());
            DB::transaction(fn () => Word::create(['word' => 'innermost']));
            Word::create(['word' => 'inner']);
        });
    } catch (Illuminate\Database\QueryException $error) {
        show($error->errorInfo[1]);
    }
    show(DB::transactionLevel(), DB::connection('second')->table('words')->where('word', 'outer')->count());
    Word::create(['word' => 'outer 2']);
    DB::commit();
    DB::beginTransaction();
    DB::beginTransaction();
    Word::create(['word' => 'gone']);
    DB::rollBack();
    DB::rollBack(0);
    show(Word::count() - $before, Word::whereIn('word', ['in one', 'never', 'outer', 'inner', 'innermost', 'outer 2', 'gone'])->orderBy('id')->pluck('word'));
});

step('locks', function () {
    $second = DB::connection('second');
    $second->statement('set innodb_lock_wait_timeout = 1');
    DB::transaction(function () use ($second) {
        show(Book::lockForUpdate()->find(10)->id, Book::where('id', 11)->sharedLock()->value('id'));
        fails(fn () => $second->table('books')->where('id', 10)->update(['copies' => 1]));
        fails(fn () => $second->table('books')->where('id', 11)->lock('for update nowait')->get());
        show($second->table('books')->where('id', 11)->sharedLock()->value('id'));
        show($second->transaction(fn () => $second->table('books')->whereIn('id', [10, 11, 12])->lock('for update skip locked')->pluck('id')));
    });
    show($second->table('books')->where('id', 10)->update(['copies' => 100]));
});

step('many at once', function () use ($capsule) {
    Book::where('id', 12)->update(['copies' => 0]);
    $children = [];
    DB::disconnect();
    foreach (range(1, 4) as $_) {
        if (!($child = pcntl_fork())) {
            try {
                DB::reconnect();
                foreach (range(1, 10) as $_) {
                    DB::transaction(function () {
                        $book = Book::lockForUpdate()->find(12);
                        $book->update(['copies' => $book->copies + 1]);
                    }, 5);
                }
            } finally {
                posix_kill(getmypid(), SIGKILL);
            }
        }
        $children[] = $child;
    }
    foreach ($children as $child) {
        pcntl_waitpid($child, $status);
    }
    DB::reconnect();
    show(Book::find(12)->copies);
});

step('deadlock', function () {
    // One closes the circle, is chosen, tries again and succeeds.
    $tries = 0;
    DB::table('words')->insert([['word' => 'left'], ['word' => 'right']]);
    $take = fn ($word) => DB::table('words')->where('word', $word)->lockForUpdate()->first();
    [$here, $there] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    DB::disconnect();
    if (!($child = pcntl_fork())) {
        fclose($here);
        try {
            DB::reconnect();
            DB::transaction(function () use ($take, $there) {
                $take('right');
                fwrite($there, "r\n");
                fgets($there);
                // Heavier than the other: it has changed rows.
                DB::table('words')->where('word', 'like', 'word 2%')->update(['word' => DB::raw("concat(word, '!')")]);
                fwrite($there, "go\n");
                $take('left');
            }, 5);
        } finally {
            posix_kill(getmypid(), SIGKILL);
        }
    }
    fclose($there);
    fgets($here);
    DB::reconnect();
    DB::transaction(function () use ($take, $here, &$tries) {
        $take('left');
        if (!$tries++) {
            fwrite($here, "l\n");
            fgets($here);
            usleep(300000);
        }
        $take('right');
    }, 5);
    pcntl_waitpid($child, $status);
    show($tries, DB::table('words')->where('word', 'like', '%!')->count());
});

step('errors', function () {
    fails(fn () => Author::create(['name' => 'x', 'email' => 'ann@example.org']));
    fails(fn () => Book::create(['author_id' => 4711, 'isbn' => 'x', 'title' => 'x', 'year' => 2000]));
    fails(fn () => Author::find(1)->delete());
    fails(fn () => Word::create(['word' => str_repeat('x', 41)]));
    fails(fn () => Author::whereKey(1)->update(['kind' => 'poet']));
    fails(fn () => Book::whereKey(1)->update(['price' => -1]));
    fails(fn () => Book::whereKey(1)->update(['price' => 1234567]));
    fails(fn () => Book::whereKey(1)->update(['copies' => 65536]));
    fails(fn () => Book::whereKey(1)->update(['year' => 1800]));
    fails(fn () => Book::whereKey(1)->update(['total' => 1]));
    fails(fn () => Author::whereKey(1)->update(['born' => '2023-02-29']));
    fails(fn () => Author::whereKey(1)->update(['about' => '{"a": ']));
    fails(fn () => Author::create(['email' => 'nameless']));
    fails(fn () => Author::create(['name' => null, 'email' => 'nameless']));
    fails(fn () => DB::select('select * from nowhere'));
    fails(fn () => Book::where('colour', 1)->get());
    fails(fn () => DB::select('selec 1'));
    fails(fn () => DB::table('books')->select('title')->groupBy('year')->get());
    fails(fn () => DB::select('select id from books join authors on true'));
    fails(fn () => Book::findOrFail(4711));
    fails(fn () => Book::cheap()->sole());
    fails(fn () => DB::schema()->create('books', fn (Blueprint $table) => $table->id()));
    fails(fn () => DB::schema()->table('books', fn (Blueprint $table) => $table->dropColumn('author_id')));
    fails(fn () => DB::schema()->drop('authors'));
    fails(fn () => DB::schema()->table('books', fn (Blueprint $table) => $table->unique('copies')));
    show(Author::count());
});

step('emulated prepares', function () {
    $other = DB::connection('emulated');
    show($other->table('books')->where('id', 3)->first(['id', 'price', 'weight', 'year', 'lent', 'extra']));
    show($other->select('select ? as a, ? as b, ? as c, ? as d', [1, 2.5, "it's \\ \x00 \"q\" 🙂", null]));
    show($other->table('members')->where('secret', "\x00\xff'\\\n")->value('name'), $other->table('words')->where('word', 'like', 'word 10%')->limit(2)->offset(1)->orderBy('id')->pluck('word'));
    show(DB::select('select ? as a, ? as b, ? + 1 as c, ? as d', [1, 2.5, 3, null]));
    $pdo = DB::connection()->getPdo();
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, true);
    $both = $pdo->query('select 1 as a; select 2 as b, 3 as c');
    show($both->fetchAll(PDO::FETCH_ASSOC), $both->nextRowset(), $both->fetchAll(PDO::FETCH_ASSOC));
    $pdo->setAttribute(PDO::ATTR_EMULATE_PREPARES, false);
    $query = $pdo->prepare('select id, price, weight, year, extra, created_at, deleted_at, lent from books limit 1');
    $query->execute();
    foreach (range(0, 7) as $i) {
        $meta = $query->getColumnMeta($i);
        sort($meta['flags']);
        show($meta['name'], $meta['native_type'] ?? null, $meta['pdo_type'], $meta['table'], $meta['len'], $meta['precision'], $meta['flags']);
    }
});

step('explain and pretend', function () {
    show(count(Book::where('id', 1)->explain()) > 0);
    $plan = DB::select('explain format = traditional select * from books where id = 1');
    show(count($plan), $plan[0]->table, $plan[0]->select_type, $plan[0]->type, $plan[0]->key);
    show(array_column(DB::pretend(fn () => Book::where('id', 1)->delete()), 'query'));
    DB::enableQueryLog();
    Book::with('author')->find(1);
    show(array_column(DB::getQueryLog(), 'query', null));
});

step('every type', function () {
    DB::schema()->create('kinds', function (Blueprint $table) {
        $table->mediumIncrements('id');
        $table->tinyInteger('a')->unsigned();
        $table->mediumInteger('b')->default(-5);
        $table->unsignedBigInteger('c')->default('18446744073709551615');
        $table->float('d', 8, 2)->nullable();
        $table->double('e', 15, 8)->nullable();
        $table->mediumText('f')->nullable();
        $table->longText('g')->nullable();
        $table->tinyText('h')->nullable();
        $table->time('i', 3)->nullable();
        $table->timestampTz('j', 2)->useCurrent()->useCurrentOnUpdate();
        $table->dateTimeTz('k')->nullable()->useCurrent();
        $table->jsonb('l')->nullable();
        $table->macAddress('m')->nullable();
        $table->rememberToken();
        $table->nullableUuidMorphs('n');
        $table->char('o', 5)->default('ab');
        $table->engine = 'InnoDB';
        $table->charset = 'latin1';
        $table->collation = 'latin1_german1_ci';
        $table->comment = 'every kind';
    });
    show(explode("\n", array_values((array) DB::selectOne('SHOW CREATE TABLE kinds'))[1]));
    DB::table('kinds')->insert(['a' => 255, 'd' => 1.005, 'e' => 1 / 3, 'f' => str_repeat('ü', 70000), 'g' => 'g', 'i' => '-12:34:56.789', 'j' => '2024-05-06 07:08:09.99', 'k' => '2024-02-29 23:59:59', 'l' => '[1, 2.50, "x"]', 'o' => 'a  ']);
    $row = (array) DB::table('kinds')->first();
    $row['f'] = mb_strlen($row['f']);
    show($row);
    DB::schema()->drop('kinds');
});

step('change column', function () {
    $sm = DB::connection()->getDoctrineSchemaManager();
    DB::schema()->table('books', function (Blueprint $table) {
        $table->text('title')->nullable()->change();
        $table->bigInteger('copies')->unsigned()->default(3)->change();
        $table->integer('shelf')->nullable()->after('title');
    });
    DB::schema()->table('books', function (Blueprint $table) {
        $table->renameColumn('shelf', 'place');
        $table->dropIndex(['year', 'price']);
        $table->dropSoftDeletes();
    });
    foreach ($sm->listTableColumns('books') as $column) {
        show($column->getName(), $column->getType()->getName(), $column->getLength(), $column->getNotnull(), $column->getDefault(), $column->getUnsigned(), $column->getAutoincrement(), $column->getComment());
    }
    show(DB::table('books')->count(), DB::table('books')->sum('copies'));
});

step('drop all', function () use ($migrator) {
    DB::statement('create view cheap as select * from books where price < 10');
    show(array_map(fn ($row) => array_values((array) $row)[0], DB::schema()->getAllViews()), DB::table('cheap')->count());
    DB::schema()->dropAllViews();
    DB::schema()->dropAllTables();
    show(DB::schema()->getAllTables());
    DB::schema()->createDatabase('applications_eloquent_more');
    DB::schema()->dropDatabaseIfExists('applications_eloquent_more');
});
