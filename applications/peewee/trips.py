"""A travel agency with Peewee: tables, rows, queries, transactions, locks, errors, migrations, introspection."""

import datetime
import decimal
import io
import sys
import threading
import uuid

import peewee as pw
from playhouse import dataset, hybrid, kv, migrate, pool, reflection, shortcuts, signals

from steps import check, show, step

HOST, PORT, USER, DATABASE = sys.argv[1:]
# What Peewee asks for by itself is a mode without the server's checks.
STRICT = "PIPES_AS_CONCAT,ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO"
SETTINGS = {"host": HOST, "port": int(PORT), "user": USER, "charset": "utf8mb4", "sql_mode": STRICT}
DB = pool.PooledMySQLDatabase(DATABASE, max_connections=8, stale_timeout=300, **SETTINGS)


class Base(pw.Model):
    """All are in one database."""

    class Meta:
        database = DB
        legacy_table_names = False


class Place(Base):
    """Where one goes."""
    name = pw.CharField(60, index=True, collation="utf8mb4_0900_as_cs")
    country = pw.FixedCharField(2, constraints=[pw.Check("country <> ''")])
    height = pw.SmallIntegerField(default=0, constraints=[pw.SQL("DEFAULT 0")])
    inside = pw.ForeignKeyField("self", null=True, backref="parts", on_delete="SET NULL")

    class Meta:
        indexes = ((("name", "country"), True),)


class Guest(signals.Model):
    """Who goes."""
    code = pw.UUIDField(primary_key=True)
    name = pw.CharField(unique=True)
    born = pw.DateField(null=True)
    wakes = pw.TimeField(null=True)
    seen = pw.DateTimeField(null=True)
    raw = pw.BlobField(null=True)
    bytes_16 = pw.BinaryUUIDField(null=True)
    joined = pw.TimestampField(resolution=6, utc=True, default=0)
    active = pw.BooleanField(default=True)
    flags = pw.BitField(default=0)
    is_vip = flags.flag(1)
    is_late = flags.flag(2)

    class Meta:
        database = DB
        legacy_table_names = False


class Trip(Base):
    """What is sold."""
    title = pw.CharField(100)
    price = pw.DecimalField(10, 2, default=decimal.Decimal("0"))
    rating = pw.FloatField(null=True)
    exact = pw.DoubleField(null=True)
    seats = pw.IntegerField(default=0, constraints=[pw.Check("seats >= 0")])
    sold = pw.BigIntegerField(default=0)
    text = pw.TextField(null=True)
    place = pw.ForeignKeyField(Place, backref="trips", on_delete="RESTRICT", on_update="CASCADE")
    starts = pw.DateTimeField(formats=["%Y-%m-%d %H:%M:%S"])

    @hybrid.hybrid_property
    def income(self):
        """What it brought."""
        return self.price * self.sold

    class Meta:
        table_settings = ["COMMENT='what is sold'"]


class Booking(Base):
    """Who goes where."""
    trip = pw.ForeignKeyField(Trip, backref="bookings", on_delete="CASCADE")
    guest = pw.ForeignKeyField(Guest, backref="bookings", on_delete="CASCADE")
    paid = pw.BooleanField(default=False)

    class Meta:
        primary_key = pw.CompositeKey("trip", "guest")


class Word(Base):
    """What trips are found by."""
    word = pw.CharField(30, primary_key=True)
    trips = pw.ManyToManyField(Trip, backref="words", on_delete="CASCADE")


LINKS = Word.trips.get_through_model()
TABLES = [Place, Guest, Trip, Booking, Word, LINKS]
ANN, BOB = uuid.UUID("6c84fb90-12c4-11e1-840d-7b25c5ee775a"), uuid.UUID("6c84fb91-12c4-11e1-840d-7b25c5ee775a")


def fails(run):
    """Shows the class of the error that must come, and what the server said."""
    try:
        run()
    except Exception as error:  # pylint: disable=broad-except
        words = [str(part).split(" (the lock is held by")[0] for part in error.args]
        show(type(error).__name__, words)
    else:
        raise AssertionError("there was no error")


def definitions():
    """Each table as the server shows it."""
    for name in sorted(DB.get_tables()):
        show(DB.execute_sql(f"SHOW CREATE TABLE `{name}`").fetchone()[1].split("\n"))


@step
def create_tables():
    DB.create_tables(TABLES)
    DB.create_tables(TABLES)
    definitions()


@step
def look():
    for name in sorted(DB.get_tables()):
        for column in sorted(DB.get_columns(name)):
            show(column)
        for index in sorted(DB.get_indexes(name)):
            show(index.name, index.columns, index.unique)
        show(sorted(DB.get_foreign_keys(name)), DB.get_primary_keys(name))
    show(Trip.table_exists(), DB.table_exists("nothing"), DB.get_views(), DB.server_version[0] >= 8)


@step
def create_rows():
    alps = Place.create(name="Alps É 🏔", country="CH", height=4634)
    for number in range(5):
        Place.create(name=f"Hut {number}", country="CH", height=number * 700, inside=alps)
    sent = []
    signals.post_save.connect(lambda model, instance, created: sent.append((model.__name__, created)), sender=Guest)
    Guest.create(code=ANN, name="Ann O'Neil \\ \"x\" 100%", born=datetime.date(1960, 2, 29), wakes=datetime.time(6, 30, 15),
                 seen=datetime.datetime(2024, 2, 29, 1, 2, 3), raw=bytes(range(256)), bytes_16=BOB, joined=datetime.datetime(2024, 5, 6, 7, 8, 9, 123456), is_vip=True)
    Guest(code=BOB, name="Bob").save(force_insert=True)
    show(sent)
    for row in Guest.select().order_by(Guest.code).dicts():
        show({key: value.hex() if isinstance(value, bytes) else value for key, value in row.items()})
    rows = [{"title": f"Trip {i}", "price": decimal.Decimal(i) * 10, "rating": i / 4, "exact": i / 7, "seats": i, "sold": i * 2**30, "place": 1 + i % 6,
             "text": "t" * i, "starts": datetime.datetime(2024, 1 + i % 12, 1 + i, 10, i)} for i in range(25)]
    show(Trip.insert_many(rows).execute(), Trip.select().count())
    for part in pw.chunked([(f"word {i}",) for i in range(250)], 100):
        Word.insert_many(part, fields=[Word.word]).execute()
    show(Word.select().count())
    made = [Trip(title=f"Bulk {i}", place=alps, starts=datetime.datetime(2025, 1, 1)) for i in range(7)]
    Trip.bulk_create(made, batch_size=3)
    for trip in Trip.select().where(Trip.title.startswith("Bulk")):
        trip.seats = 9
    found = list(Trip.select().where(Trip.title.startswith("Bulk")).order_by(Trip.title))
    for number, trip in enumerate(found):
        trip.seats, trip.price = number, decimal.Decimal(number) / 3
    show(Trip.bulk_update(found, [Trip.seats, Trip.price], batch_size=4), [(t.title, t.seats, t.price) for t in Trip.select().where(Trip.title ** "bulk%").order_by(Trip.title)])


@step
def relations():
    for number, trip in enumerate(Trip.select().order_by(Trip.id).limit(6)):
        Booking.create(trip=trip, guest=ANN, paid=number % 2)
        if number % 3 == 0:
            Booking.create(trip=trip, guest=BOB)
        trip.words.add([f"word {n}" for n in range(number)])
    trip = Trip.get(Trip.title == "Trip 4")
    show(sorted(w.word for w in trip.words), trip.place.name, trip.place.inside.name, [b.guest.name for b in trip.bookings])
    trip.words.remove(["word 1"])
    show(trip.words.count(), [t.title for t in Word.get_by_id("word 0").trips.order_by(Trip.title)])
    trip.words.clear()
    places = pw.prefetch(Place.select().order_by(Place.id), Trip.select().order_by(Trip.id), Booking.select().order_by(Booking.guest))
    show([[p.name, [[t.title, len(t.bookings)] for t in p.trips][:3]] for p in places])
    query = Booking.select(Booking, Trip, Place).join(Trip).join(Place).where(Booking.guest == ANN).order_by(Trip.id)
    show([[b.trip.title, b.trip.place.name, b.paid] for b in query])
    show(shortcuts.model_to_dict(Booking.get(Booking.guest == BOB), max_depth=1))
    part = Place.alias()
    show(list(Place.select(Place.name, pw.fn.COUNT(part.id).alias("n")).join(part, pw.JOIN.LEFT_OUTER, on=part.inside == Place.id).group_by(Place.id).order_by(pw.SQL("n").desc(), Place.id).tuples()))


@step
def queries():
    show(list(Trip.select(Trip.title).where((Trip.price.between(50, 90)) & ~(Trip.title.contains("7")) | (Trip.seats == 20)).order_by(Trip.price.desc()).tuples()))
    show(list(Trip.select(Trip.place, pw.fn.SUM(Trip.sold).alias("s"), pw.fn.AVG(Trip.price), pw.fn.GROUP_CONCAT(pw.NodeList((Trip.title, pw.SQL("ORDER BY"), Trip.title)))).group_by(Trip.place).having(pw.fn.COUNT(Trip.id) > 4).order_by(Trip.place).tuples()))
    show(Trip.select(pw.fn.MIN(Trip.starts), pw.fn.MAX(Trip.exact)).scalar(as_tuple=True), Trip.select(Trip.place).distinct().count())
    show([t.title for t in Trip.select().order_by(Trip.id).paginate(3, 4)], Trip.select().where(Trip.text.is_null()).exists(), Trip.get_or_none(Trip.id == 0))
    show(list(Trip.select(Trip.title, pw.Case(None, [(Trip.price > 100, "dear"), (Trip.price > 20, "fair")], "cheap")).where(Trip.seats.in_([1, 5, 15])).order_by(Trip.id).tuples()))
    show(list(Trip.select(Trip.starts.year, Trip.starts.month, pw.fn.COUNT("*")).where(Trip.starts.day < 5).group_by(Trip.starts.year, Trip.starts.month).order_by(1, 2).tuples()))
    show(list(Trip.select(Trip.title).where(Trip.starts.truncate("month") == datetime.datetime(2024, 3, 1)).order_by(Trip.id).tuples()))
    show(list(Trip.select(Trip.title, Trip.income).order_by(Trip.income.desc()).limit(2).tuples()))
    show([p.name for p in Place.select().where(Place.name == "hut 1")], [p.name for p in Place.select().where(Place.name ** "HUT%").order_by(Place.id)], [p.name for p in Place.select().where(Place.name.iregexp("^Hut [12]$")).order_by(Place.id)])
    show(list(Trip.select(Trip.title).where(Trip.id.in_(Booking.select(Booking.trip).where(Booking.guest == BOB))).order_by(Trip.id).tuples()))
    show([g.name for g in Guest.select().where(Guest.is_vip)], Guest.select().where(~Guest.is_late).count(), Guest.get(Guest.bytes_16 == BOB).name)
    show(list(Trip.raw("SELECT title, price * %s AS twice FROM trip WHERE id < %s ORDER BY id", 2, 3).dicts()), DB.execute_sql("SELECT %s, %s", (None, "%")).fetchall())


@step
def sets_windows_ctes():
    one, two = Trip.select(Trip.title).where(Trip.id < 4), Trip.select(Trip.title).where(Trip.id.between(3, 5))
    show(sorted((one | two).tuples()), sorted((one & two).tuples()), sorted((one - two).tuples()), len(one.union_all(two)))
    show(list((one | two).order_by(pw.SQL("title").desc()).limit(2).tuples()))
    window = pw.Window(partition_by=[Trip.place], order_by=[Trip.price.desc()])
    show(list(Trip.select(Trip.title, pw.fn.RANK().over(window), pw.fn.SUM(Trip.seats).over(partition_by=[Trip.place], order_by=[Trip.id], start=pw.Window.preceding(1), end=pw.Window.following(1)), pw.fn.LAG(Trip.title, 1).over(window)).window(window).where(Trip.id < 12).order_by(Trip.id).tuples()))
    base = Place.select(Place.id, Place.name, pw.Value(0).alias("level")).where(Place.inside.is_null()).cte("tree", recursive=True, columns=("id", "name", "level"))
    below = Place.alias()
    tree = base.union_all(below.select(below.id, below.name, base.c.level + 1).join(base, on=below.inside == base.c.id))
    show(list(tree.select_from(tree.c.name, tree.c.level).order_by(tree.c.level, tree.c.id).tuples()))
    best = Trip.select(Trip.place, pw.fn.MAX(Trip.price).alias("top")).group_by(Trip.place).alias("best")
    show(list(Trip.select(Trip.title).join(best, on=(Trip.place == best.c.place_id) & (Trip.price == best.c.top)).order_by(Trip.id).tuples()))


@step
def change():
    show(Trip.update(seats=Trip.seats + 1, text=pw.fn.CONCAT(Trip.title, "!")).where(Trip.id <= 3).execute(), Trip.update({Trip.price: 5}).where(Trip.price > 200).order_by(Trip.id).limit(2).execute())
    show(Guest.update(name="Bob").where(Guest.code == BOB).execute(), Booking.set_by_id((1, ANN), {"paid": True}), Booking.get_by_id((1, ANN)).paid)
    trip = Trip.get_by_id(2)
    trip.title = "renamed"
    show(trip.dirty_fields, trip.save(only=trip.dirty_fields), Trip[2].title, trip.save())
    show(Trip.delete().where(Trip.title.startswith("Bulk")).execute(), Trip.get_by_id(9).delete_instance(), Booking.select().count(), Booking.delete_by_id((4, BOB)))
    show(Trip.get_or_create(title="Trip 5", defaults={"place": 1})[1], Word.get_or_create(word="brand new")[1], len(Trip.noop()))


@step
def upsert():
    show(Word.insert(word="word 1").on_conflict_ignore().execute(), Word.replace(word="word 2").execute())
    clause = Place.insert_many([{"name": "Hut 1", "country": "CH", "height": 9}, {"name": "New", "country": "AT", "height": 8}])
    show(clause.on_conflict(preserve=[Place.height], update={Place.inside: None}).as_rowcount().execute())
    show(Place.insert(name="Hut 2", country="CH", height=100).on_conflict(update={Place.height: Place.height + pw.fn.VALUES(Place.height)}).as_rowcount().execute())
    show(list(Place.select(Place.name, Place.height, Place.inside).order_by(Place.name, Place.id).tuples()))
    show(Word.insert_from(Trip.select(pw.fn.CONCAT("of ", Trip.title)).where(Trip.id < 3), [Word.word]).as_rowcount().execute())


@step
def transactions():
    def add(word):
        Word.create(word=word)
    with DB.atomic():
        add("kept")
        try:
            with DB.atomic():
                add("lost")
                raise LookupError
        except LookupError:
            show(DB.transaction_depth())
        with DB.savepoint() as point:
            add("back")
            point.rollback()
            add("after")
    with DB.atomic() as whole:
        add("undone")
        whole.rollback()
    with DB.manual_commit():
        DB.begin()
        add("by hand")
        DB.rollback()
    for level in ("READ COMMITTED", "SERIALIZABLE"):
        with DB.transaction(isolation_level=level):
            show(Word.select().count(), level)
    show(sorted(w.word for w in Word.select().where(Word.word << ["kept", "lost", "back", "after", "undone", "by hand"])))


def elsewhere(run):
    """Runs a function on another connection; its error is shown."""
    def body():
        with DB.connection_context():
            try:
                run()
            except pw.PeeweeException as error:
                show(type(error).__name__, error.args[0], str(error.args[1]).split(" (the lock")[0])
    thread = threading.Thread(target=body)
    thread.start()
    thread.join()


@step
def locks():
    def waits():
        DB.execute_sql("SET innodb_lock_wait_timeout = 1")
        Trip.update(seats=1).where(Trip.id == 5).execute()
    with DB.atomic():
        show(Trip.select().where(Trip.id == 5).for_update().get().title)
        elsewhere(waits)
        elsewhere(lambda: show(Trip.select(Trip.id).where(Trip.id == 5).for_update("FOR UPDATE NOWAIT").tuples().get()))
        elsewhere(lambda: show(sorted(Trip.select(Trip.id).where(Trip.id << [4, 5, 6]).for_update("FOR SHARE SKIP LOCKED").tuples())))


@step
def many_at_once():
    Trip.update(sold=0).where(Trip.id == 6).execute()

    def more():
        with DB.connection_context():
            for _ in range(10):
                with DB.atomic():
                    trip = Trip.select().where(Trip.id == 6).for_update().get()
                    trip.sold += 1
                    trip.save()
                Trip.update(sold=Trip.sold + 1).where(Trip.id == 6).execute()
    threads = [threading.Thread(target=more) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    show(Trip.get_by_id(6).sold)


@step
def errors():
    fails(lambda: Guest.create(code=ANN, name="x"))
    fails(lambda: Guest.create(code=uuid.UUID(int=1), name="bob"))
    fails(lambda: Place.create(name="x", country=""))
    fails(lambda: Place.create(name="x" * 61, country="DE"))
    fails(lambda: Place.create(name=None, country="DE"))
    fails(lambda: Place.create(name="x", country="DE", height=40000))
    fails(lambda: Trip.create(title="x", place=4711, starts=datetime.datetime.min.replace(year=2024)))
    fails(lambda: Place.delete().where(Place.id == 1).execute())
    fails(lambda: Trip.update(seats=-1).where(Trip.id == 1).execute())
    fails(lambda: Trip.update(price=decimal.Decimal("1e9")).where(Trip.id == 1).execute())
    fails(lambda: DB.execute_sql("UPDATE trip SET starts = '2024-02-30' WHERE id = 1"))
    fails(lambda: DB.execute_sql("SELECT * FROM nowhere"))
    fails(lambda: list(Trip.select(pw.SQL("nothing"))))
    fails(lambda: DB.execute_sql("SELEC 1"))
    fails(lambda: Trip.get(Trip.id == 0))
    fails(lambda: Word.create_table(safe=False))
    fails(lambda: Place.drop_table())
    fails(lambda: list(Trip.select(Trip.title, pw.fn.COUNT(Trip.id))))
    show(Place.select().count())


@step
def migrations():
    go = migrate.MySQLMigrator(DB)
    migrate.migrate(go.add_column("trip", "note", pw.CharField(40, default="none")), go.add_column("trip", "guide_id", pw.ForeignKeyField(Place, Place.id, null=True, on_delete="SET NULL")),
                    go.add_column("trip", "extra", pw.TextField(null=True)))
    migrate.migrate(go.rename_column("trip", "note", "remark"), go.add_index("trip", ("remark", "price"), False), go.drop_not_null("trip", "title"),
                    go.alter_column_type("trip", "seats", pw.BigIntegerField(default=0)), go.drop_column("trip", "extra"))
    show(DB.execute_sql("SHOW CREATE TABLE trip").fetchone()[1].split("\n"), DB.execute_sql("SELECT remark, COUNT(*) FROM trip GROUP BY 1").fetchall())
    migrate.migrate(go.drop_index("trip", "trip_remark_price"), go.drop_foreign_key_constraint("trip", "guide_id"), go.drop_column("trip", "remark"), go.add_not_null("trip", "title"), go.rename_table("word", "words"))
    show(DB.execute_sql("SHOW CREATE TABLE trip").fetchone()[1].split("\n"), sorted(DB.get_tables()))
    migrate.migrate(go.rename_table("words", "word"))


@step
def introspect():
    DB.execute_sql("CREATE TABLE kinds (a BIGINT UNSIGNED PRIMARY KEY, b MEDIUMINT, c TINYINT(1), d BIT(4), e YEAR, f ENUM('x','y'), g SET('p','q'), h JSON, i TIME(3), j DATETIME(6) DEFAULT CURRENT_TIMESTAMP(6), "
                   "k TIMESTAMP NULL, l FLOAT, m NUMERIC(30,10), n VARBINARY(9), o MEDIUMBLOB, p LONGTEXT, q CHAR(3), r INT GENERATED ALWAYS AS (b + 1) VIRTUAL, s INT NOT NULL DEFAULT 5)")
    DB.execute_sql("CREATE VIEW dear AS SELECT id, title FROM trip WHERE price > 100")
    models = reflection.generate_models(DB, include_views=True)
    for name in sorted(models):
        show(name, sorted((field.column_name, type(field).__name__, field.null, field.unique) for field in models[name]._meta.sorted_fields))
    kinds = models["kinds"]
    kinds.insert(a=2**64 - 1, b=-5, c=True, e=2024, f="y", g="p,q", h='{"a": [1, 2.50]}', i="-01:02:03.456", m="1.5", n=b"\x00\xff", p="ü").execute()
    row = kinds.select(kinds.a, kinds.b, kinds.c, kinds.e, kinds.f, kinds.g, kinds.h, kinds.m, kinds.n, kinds.p, kinds.r, kinds.s).tuples().get()
    show([value.hex() if isinstance(value, bytes) else value for value in row], len(models["dear"].select()))
    DB.execute_sql("DROP VIEW dear")
    kinds.drop_table()


@step
def data_set():
    data = dataset.DataSet(f"mysql://{USER}@{HOST}:{PORT}/{DATABASE}")
    table = data["loose"]
    table.insert(name="one", size=1)
    table.insert(name="two", size=2.5, day=datetime.date(2024, 2, 29))
    table.update(name="two", colour="red", columns=["name"])
    show(sorted(table.columns), list(table.all()), table.find_one(name="two"))
    out = io.StringIO()
    data.freeze(table.all(), format="csv", file_obj=out)
    show(out.getvalue().split())
    with data.transaction() as undo:
        table.delete(name="one")
        undo.rollback()
    show(len(table), sorted(data.tables))
    DB.execute_sql("DROP TABLE loose")
    data.close()


@step
def key_values():
    store = kv.KeyValue(database=DB, table_name="pairs")
    store["a"], store["b"] = {"x": [1]}, "ü 🙂"
    store.update(c=3, a=4)
    show(sorted(store.items()), "b" in store, len(store), store.pop("c"), sorted(store.keys()))
    show(sorted(store[store.key > "a"]))
    DB.execute_sql("DROP TABLE pairs")


@step
def without_checks():
    """In the mode that Peewee asks for by itself."""
    other = pw.MySQLDatabase(DATABASE, **{**SETTINGS, "sql_mode": "PIPES_AS_CONCAT"})
    with other.bind_ctx([Place, Trip]):
        place = Place.insert(name="n" * 70, country="DEUTSCHLAND", height=99999).execute()
        show(other.execute_sql("SHOW WARNINGS").fetchall())
        show(list(Place.select(Place.name, Place.country, Place.height).where(Place.id == place).tuples()))
        other.execute_sql("UPDATE trip SET starts = '2024-02-30', price = 'abc' WHERE id = 1")
        show(other.execute_sql("SHOW WARNINGS").fetchall(), other.execute_sql("SELECT starts + 0, price FROM trip WHERE id = 1").fetchall())
        show(other.execute_sql("SELECT place_id, COUNT(*), 1 / 0, 'a' || 'b' FROM trip GROUP BY place_id HAVING COUNT(*) > 4 ORDER BY 1").fetchall())
        show(Place.delete().where(Place.id == place).execute())
    other.close()


@step
def drop():
    DB.drop_tables(TABLES)
    show(DB.get_tables())
    DB.close_all()
    check(DB.is_closed())
