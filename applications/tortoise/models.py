"""A choir: voices, singers, concerts, songs."""

import enum

from tortoise import fields
from tortoise.models import Model


class Voice(str, enum.Enum):
    """How high."""
    HIGH = "high"
    LOW = "low"


class Level(enum.IntEnum):
    """How well."""
    NEW = 1
    GOOD = 2


class Singer(Model):
    """Who sings."""
    id = fields.UUIDField(primary_key=True)
    name = fields.CharField(80, unique=True, description="it's the \"name\"")
    voice = fields.CharEnumField(Voice, default=Voice.HIGH)
    level = fields.IntEnumField(Level, default=Level.NEW)
    born = fields.DateField(null=True)
    seen = fields.DatetimeField(null=True)
    wakes = fields.TimeField(null=True)
    extra = fields.JSONField(null=True)
    picture = fields.BinaryField(null=True)
    teacher = fields.ForeignKeyField("models.Singer", related_name="pupils", null=True, on_delete=fields.SET_NULL)
    absence = fields.TimeDeltaField(null=True)


class Song(Model):
    """What is sung."""
    id = fields.IntField(primary_key=True)
    title = fields.CharField(120, db_index=True)
    price = fields.DecimalField(10, 2, default=0)
    length = fields.FloatField(null=True)
    copies = fields.SmallIntField(default=0)
    heard = fields.BigIntField(default=0)
    text = fields.TextField(null=True)
    free = fields.BooleanField(default=False)

    class Meta:
        table_description = "what is sung"
        indexes = [("title", "price")]


class Concert(Model):
    """Where and when."""
    id = fields.BigIntField(primary_key=True)
    place = fields.CharField(60)
    at = fields.DatetimeField()
    songs = fields.ManyToManyField("models.Song", related_name="concerts", through="programme")
    leader = fields.ForeignKeyField("models.Singer", related_name="concerts", on_delete=fields.RESTRICT)

    class Meta:
        unique_together = (("place", "at"),)


class Ticket(Model):
    """Who comes."""
    id = fields.IntField(primary_key=True)
    concert = fields.ForeignKeyField("models.Concert", related_name="tickets", on_delete=fields.CASCADE)
    seat = fields.CharField(5)
    made = fields.DatetimeField(auto_now_add=True)


class Hall(Model):
    """One to one."""
    concert = fields.OneToOneField("models.Concert", related_name="hall", primary_key=True)
    seats = fields.IntField()
