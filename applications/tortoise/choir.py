"""A choir with Tortoise ORM on asyncmy: schema, rows, relations, queries, transactions, locks, errors."""

import asyncio
import contextvars
import datetime
import decimal
import re
import sys
import uuid

from tortoise import Tortoise, connections
from tortoise.exceptions import BaseORMException
from tortoise.expressions import Case, F, Q, RawSQL, Subquery, When
from tortoise.functions import Avg, Coalesce, Count, Length, Lower, Max, Min, Sum, Trim, Upper
from tortoise.query_utils import Prefetch
from tortoise.transactions import in_transaction

from models import Concert, Hall, Level, Singer, Song, Ticket, Voice
from steps import show, step_awaited

HOST, PORT, USER, DATABASE = sys.argv[1:]
ANN, BOB = uuid.UUID("6c84fb90-12c4-11e1-840d-7b25c5ee775a"), uuid.UUID("6c84fb91-12c4-11e1-840d-7b25c5ee775a")
UTC = datetime.timezone.utc


async def fails(what):
    """Shows the class of the error that must come, and what the server said."""
    try:
        await what
    except BaseORMException as error:
        show(type(error).__name__, re.sub(r" \(the lock is held by: .*\)(?=['\"]\)$)", "", str(error), flags=re.S))
    else:
        raise AssertionError("there was no error")


async def rows(sql, values=None):
    """A statement's rows."""
    return [list(row.values()) for row in await connections.get("default").execute_query_dict(sql, values)]


async def schema():
    await Tortoise.generate_schemas(safe=False)
    for (name,) in await rows("SHOW TABLES"):
        show((await rows(f"SHOW CREATE TABLE `{name}`"))[0][1].split("\n"))


async def schema_again():
    """Nothing is to be done: all is there."""
    await Tortoise.generate_schemas(safe=True)
    show(len(await rows("SHOW TABLES")))


async def create():
    ann = await Singer.create(id=ANN, name="Ann É 🙂", voice=Voice.LOW, level=Level.GOOD, born=datetime.date(1960, 2, 29), wakes=datetime.time(6, 7, 8, 9),
                              seen=datetime.datetime(2024, 2, 29, 1, 2, 3, 456789, UTC), extra={"a": [1, 2.5, None, {"ü": "x\\\"y"}]}, picture=bytes(range(256)),
                              absence=datetime.timedelta(days=2, microseconds=5))
    await Singer.create(id=BOB, name="Bob", teacher=ann)
    found = await Singer.get(id=ANN)
    show({key: value.hex() if isinstance(value, bytes) else value for key, value in dict(found).items()})
    await Song.bulk_create([Song(title=f"Song {i} it's 100%", price=decimal.Decimal(i) / 4, length=i / 7, copies=i, heard=i * 2**40, free=i % 3 == 0, text="t" * i) for i in range(30)], batch_size=7)
    for number in range(1, 6):
        concert = await Concert.create(place=f"Place {number % 2}", at=datetime.datetime(2024, number, 1, 20, tzinfo=UTC), leader=ann)
        await concert.songs.add(*await Song.filter(id__lte=number).order_by("id"))
        await Ticket.bulk_create([Ticket(concert=concert, seat=f"{n}a") for n in range(number)])
        await Hall.create(concert=concert, seats=number * 100)
    show(await Song.all().count(), await Ticket.all().count(), (await Song.get_or_create(title="Song 1 it's 100%"))[1], (await Song.get_or_create(title="new", defaults={"copies": 3}))[1])


async def relations():
    concert = await Concert.get(id=3).prefetch_related("songs", "leader__pupils", "tickets", "hall")
    show([song.title for song in concert.songs], concert.leader.name, [pupil.name for pupil in concert.leader.pupils], len(concert.tickets), concert.hall.seats)
    show(await Concert.filter(songs__title__startswith="Song 3", leader__pupils__name="Bob").order_by("id").values_list("id", flat=True))
    show(await Song.filter(concerts__place="Place 1").distinct().order_by("id").values_list("id", flat=True), [c.id for c in await Concert.all().prefetch_related(Prefetch("tickets", Ticket.filter(seat="0a"))).order_by("-at")])
    await concert.songs.remove(await Song.get(id=1))
    show(await concert.songs.all().count(), await Singer.get(id=BOB).select_related("teacher").values("name", "teacher__name", teachers_level="teacher__level"))
    await concert.songs.clear()
    show(await rows("SELECT concert_id, COUNT(*) FROM programme GROUP BY 1 ORDER BY 1"))


async def queries():
    show(await Song.filter(Q(price__range=(2, 4)) & ~Q(title__contains="9") | Q(copies__in=[1, 29])).order_by("-price", "id").values_list("title", "price"))
    show(await Song.filter(title__icontains="SONG 1").count(), await Song.filter(title__iexact="song 5 IT'S 100%").count(), await Song.filter(title__contains="100%").count(), await Song.filter(title__contains="\\").count(), await Song.filter(title__endswith="0%").count())
    show(await Song.annotate(n=Count("concerts")).filter(n__gt=1).order_by("-n", "id").values("id", "n"), await Song.annotate(s=Sum("heard"), a=Avg("price"), h=Max("length"), l=Min("copies")).group_by("free").order_by("free").values("free", "s", "a", "h", "l"))
    show(await Song.annotate(x=Upper("title"), y=Length(Trim("title")), z=Coalesce("text", "none"), w=Lower("title")).filter(id=2).values("x", "y", "z", "w"), await Song.annotate(k=Case(When(copies__gte=20, then="many"), When(copies__gte=5, then="some"), default="few")).group_by("k").annotate(n=Count("id")).order_by("k").values("k", "n"))
    show(await Song.filter(id__in=Subquery(Concert.filter(id=4).values("songs__id"))).order_by("id").values_list("id", flat=True), await Song.annotate(double=F("copies") * 2, raw=RawSQL("price * 3")).filter(double__gt=55).order_by("id").values("double", "raw"))
    show(await Concert.filter(tickets__seat="3a").order_by("id").values_list("id", flat=True), await Concert.filter(at__year=2024, at__month=4).count())
    show(await Song.all().order_by("id").offset(3).limit(2).values_list("id", flat=True), await Song.filter(id=999).exists(), await Song.get_or_none(id=999), (await Song.all().order_by("-id").first()).title, await Song.all().distinct().values_list("free", flat=True) != [])
    show(await Singer.filter(voice=Voice.LOW, level=Level.GOOD).values_list("voice", "level"), await Song.raw("SELECT * FROM song WHERE id = 3") != [], await rows("SELECT %s AS a, %s AS b, %s AS c", [1.5, None, "it's \\ %"]))
    show(await Singer.annotate(j=RawSQL("extra->>'$.a[3].\"ü\"'")).order_by("name").values_list("j", flat=True), await Singer.filter(extra__contains={"a": [1]}).count(), await Singer.filter(seen__isnull=True).values_list("name", flat=True))


async def change():
    show(await Song.filter(id__lt=4).update(copies=F("copies") + 10, text="changed"), await Song.filter(free=True).order_by("id").limit(2).update(price=9), await Song.filter(id__gt=28).delete())
    song = await Song.get(id=5)
    song.title, song.heard = "renamed", -1
    await song.save(update_fields=["title"])
    await song.refresh_from_db()
    show(song.title, song.heard)
    songs = await Song.filter(id__range=(10, 14)).order_by("id")
    for number, song in enumerate(songs):
        song.copies, song.price = number, decimal.Decimal("1.10") * number
    show(await Song.bulk_update(songs, fields=["copies", "price"], batch_size=2), await Song.filter(id__range=(10, 14)).order_by("id").values_list("copies", "price"))
    await Song.bulk_create([Song(id=10, title="upserted", copies=77), Song(id=500, title="made", copies=78)], on_conflict=["id"], update_fields=["title", "copies"])
    await Song.bulk_create([Song(id=11, title="ignored")], ignore_conflicts=True)
    show(await Song.filter(id__in=[10, 11, 500]).order_by("id").values_list("title", "copies"), (await Song.update_or_create({"copies": 5}, title="made"))[1])


async def transactions():
    async with in_transaction() as outer:
        await Song.create(title="kept", using_db=outer)
        try:
            async with in_transaction() as inner:
                await Song.create(title="lost", using_db=inner)
                raise LookupError
        except LookupError:
            show(await Song.filter(title="lost").using_db(outer).count())
        await Song.create(title="after", using_db=outer)
    try:
        async with in_transaction():
            await Song.create(title="undone")
            raise LookupError
    except LookupError:
        pass
    async with in_transaction() as by_hand:
        await Song.create(title="by hand")
        await by_hand.rollback()
    show(await Song.filter(title__in=["kept", "lost", "after", "undone", "by hand"]).order_by("title").values_list("title", flat=True))


async def locks():
    async def wait():
        async with in_transaction() as second:
            await second.execute_query("SET innodb_lock_wait_timeout = 1")
            await Song.filter(id=3).using_db(second).update(copies=1)

    async def nowait():
        async with in_transaction() as second:
            await Song.filter(id=3).using_db(second).select_for_update(nowait=True).get()

    async def skip():
        async with in_transaction() as second:
            show([song.id for song in await Song.filter(id__in=[2, 3, 4]).using_db(second).select_for_update(skip_locked=True).order_by("id")])
    # A task begun within a transaction is within it, but for one with what was before it.
    outside = contextvars.copy_context()
    async with in_transaction() as first:
        show((await Song.filter(id=3).using_db(first).select_for_update().get()).id)
        for other in (wait, nowait):
            await asyncio.create_task(fails(other()), context=outside)
        await asyncio.create_task(skip(), context=outside)


async def many_at_once():
    await Song.filter(id=6).update(heard=0)

    async def more():
        for _ in range(10):
            async with in_transaction() as mine:
                song = await Song.filter(id=6).using_db(mine).select_for_update().get()
                song.heard += 1
                await song.save(using_db=mine)
            await Song.filter(id=6).update(heard=F("heard") + 1)
    await asyncio.gather(*(more() for _ in range(5)))
    show((await Song.get(id=6)).heard)


async def errors():
    await fails(Singer.create(id=ANN, name="x"))
    await fails(Singer.create(id=uuid.UUID(int=1), name="bob"))
    await fails(Ticket.create(concert_id=4711, seat="x"))
    await fails(Singer.filter(id=ANN).delete())
    await fails(Concert.create(place="Place 1", at=datetime.datetime(2024, 1, 1, 20, tzinfo=UTC), leader_id=ANN))
    await fails(rows("INSERT INTO ticket (concert_id, seat, made) VALUES (1, 'too long', NOW())"))
    await fails(rows("UPDATE song SET price = 1e9 WHERE id = 1"))
    await fails(rows("UPDATE song SET copies = 99999 WHERE id = 1"))
    await fails(rows("INSERT INTO song (title) VALUES (NULL)"))
    await fails(rows("UPDATE singer SET extra = '{'"))
    await fails(rows("SELECT nothing FROM song"))
    await fails(rows("SELECT * FROM nowhere"))
    await fails(rows("SELEC 1"))
    await fails(Song.get(id=0))
    await fails(Song.get(free=True))


async def types():
    await connections.get("default").execute_script(
        "CREATE TABLE kinds (a BIGINT UNSIGNED, b BIT(9), c YEAR, d SET('x','y'), e TIME(3), f DATETIME(6), g FLOAT, h DECIMAL(30,10), i BINARY(4), j MEDIUMTEXT, k JSON, l TIMESTAMP NULL, m MEDIUMINT, n ENUM('p','q'), o DATE);"
        "INSERT INTO kinds VALUES (18446744073709551615, 257, 2024, 'x,y', '-100:00:00.125', '2024-02-29 01:02:03.000001', 1.1, -1.5, x'00ff', 'ü🙂', '[1, 2.50]', '2024-01-01', -8388608, 'q', '1000-01-01');"
        "INSERT INTO kinds (a) VALUES (NULL)")
    for row in await rows("SELECT * FROM kinds"):
        show([value.hex() if isinstance(value, bytes) else value for value in row])
    await connections.get("default").execute_script("DROP TABLE kinds")


async def delete():
    await (await Concert.get(id=5)).delete()
    show(await Ticket.all().count(), await Hall.all().count(), await rows("SELECT COUNT(*) FROM programme WHERE concert_id = 5"))
    await Concert.all().delete()
    await (await Singer.get(id=ANN)).delete()
    show((await Singer.get(id=BOB)).teacher_id, await Ticket.all().count())


async def main():
    """Runs the steps."""
    await Tortoise.init({"connections": {"default": {"engine": "tortoise.backends.mysql", "credentials": {
        "host": HOST, "port": int(PORT), "user": USER, "password": "", "database": DATABASE, "minsize": 1, "maxsize": 8, "charset": "utf8mb4"}}},
        "apps": {"models": {"models": ["models"], "default_connection": "default"}}, "use_tz": True, "timezone": "UTC"})
    for run in (schema, schema_again, create, relations, queries, change, transactions, locks, many_at_once, errors, types, delete):
        await step_awaited(run)
    await Tortoise.close_connections()


asyncio.run(main())
