"""Statements over the wire, with nothing hidden: types, lengths, flags, warnings, raw values.

A statement can be sent as text (COM_QUERY) and as a prepared one (COM_STMT_PREPARE and
COM_STMT_EXECUTE) whose parameters have the types that are asked for.
"""

import dataclasses
import datetime
import decimal
import struct

import pymysql
from pymysql.constants import COMMAND, FIELD_TYPE
from pymysql.protocol import FieldDescriptorPacket

PREPARE, EXECUTE, CLOSE = 0x16, 0x17, 0x19
# PyMySQL calls TINY CHAR, too.
TYPE_NAMES = {value: name for name, value in vars(FIELD_TYPE).items()
              if name.isupper() and name != "CHAR"}
UNSIGNED_FLAG = 32


class Unsigned(int):
    """An integer that is sent as unsigned."""

    def __repr__(self):
        return f"Unsigned({int(self)})"


@dataclasses.dataclass
class Column:
    """What is told of a column of a result."""

    name: str
    type: str
    charset: int
    length: int
    flags: int
    decimals: int


@dataclasses.dataclass
class Result:
    """All that a statement answered."""

    columns: list = dataclasses.field(default_factory=list)
    rows: list = dataclasses.field(default_factory=list)
    affected: int = 0
    insert_id: int = 0
    warnings: int = 0
    info: str = ""
    error: tuple | None = None


class Client:
    """One connection."""

    def __init__(self, port, user, database=None, flags=0):
        self.connection = pymysql.connect(host="127.0.0.1", port=port, user=user,
                                          database=database, charset="utf8mb4", client_flag=flags,
                                          read_timeout=120, autocommit=True)

    def query(self, sql):
        """A statement as text."""
        return self._ask(COMMAND.COM_QUERY, sql.encode(), text_row)

    def execute(self, sql, values):
        """A statement as a prepared one; its result, and the columns announced beforehand."""
        statement, announced = self._prepare(sql)
        if statement is None:
            return announced, []
        nulls, types, data = bytearray((len(values) + 7) // 8), b"", b""
        for place, value in enumerate(values):
            if value is None:
                nulls[place // 8] |= 1 << place % 8
            kind, encoded = encode(value)
            types, data = types + kind, data + encoded
        payload = struct.pack("<IBI", statement, 0, 1)
        if values:
            payload += bytes(nulls) + b"\1" + types + data
        result = self._ask(EXECUTE, payload, binary_row)
        self.connection._execute_command(CLOSE, struct.pack("<I", statement))
        return result, announced

    def warnings(self):
        """SHOW WARNINGS of the statement before."""
        return [(level.decode(), int(code), text.decode())
                for level, code, text in self.query("SHOW WARNINGS").rows]

    def _prepare(self, sql):
        connection = self.connection
        try:
            connection._execute_command(PREPARE, sql.encode())
            packet = connection._read_packet()
            data = packet.get_all_data()
            statement, columns, parameters = struct.unpack_from("<IHH", data, 1)
            for _ in range(parameters + bool(parameters)):
                connection._read_packet()
            described = [describe(connection._read_packet(FieldDescriptorPacket))
                         for _ in range(columns)]
            if columns:
                connection._read_packet()
            return statement, described
        except pymysql.MySQLError as error:
            return None, Result(error=error.args)

    def _ask(self, command, payload, row_of):
        connection, result = self.connection, Result()
        try:
            connection._execute_command(command, payload)
            packet = connection._read_packet()
            if packet.is_ok_packet():
                self._ok(packet, result)
                return result
            for _ in range(packet.read_length_encoded_integer()):
                described = connection._read_packet(FieldDescriptorPacket)
                result.columns.append(describe(described))
            connection._read_packet()
            while True:
                packet = connection._read_packet()
                if packet.is_eof_packet():
                    result.warnings = struct.unpack_from("<H", packet.get_all_data(), 1)[0]
                    return result
                result.rows.append(row_of(packet, result.columns))
        except pymysql.MySQLError as error:
            result.error = error.args
            if error.args[0] in (2006, 2013, 2014, 1158):
                raise ConnectionError(self.connection.port) from error
        return result

    def _ok(self, packet, result):
        packet.advance(1)
        result.affected = packet.read_length_encoded_integer()
        result.insert_id = packet.read_length_encoded_integer()
        _, result.warnings = packet.read_struct("<HH")


def describe(packet):
    """A column definition."""
    return Column(packet.name, TYPE_NAMES.get(packet.type_code, str(packet.type_code)),
                  packet.charsetnr, packet.length, packet.flags, packet.scale)


def encode(value):
    """A parameter's type (two bytes) and value."""
    match value:
        case None:
            return b"\6\0", b""
        case Unsigned():
            return b"\x08\x80", struct.pack("<Q", value)
        case int():
            return b"\x08\0", struct.pack("<q", value)
        case float():
            return b"\5\0", struct.pack("<d", value)
        case decimal.Decimal():
            return b"\xf6\0", sized(str(value).encode())
        case bytes():
            return b"\xfc\0", sized(value)
        case str():
            return b"\xfd\0", sized(value.encode())
        case datetime.datetime():
            return b"\x0c\0", b"\x0b" + struct.pack(
                "<HBBBBBI", value.year, value.month, value.day, value.hour, value.minute,
                value.second, value.microsecond)
        case datetime.date():
            return b"\x0a\0", b"\4" + struct.pack("<HBB", value.year, value.month, value.day)
        case datetime.timedelta():
            total = abs(value)
            return b"\x0b\0", b"\x0c" + struct.pack(
                "<BIBBBI", value < datetime.timedelta(), total.days, total.seconds // 3600,
                total.seconds // 60 % 60, total.seconds % 60, total.microseconds)
    raise TypeError(type(value))


def sized(data):
    """Length-encoded bytes."""
    if len(data) < 251:
        return bytes([len(data)]) + data
    return b"\xfd" + struct.pack("<I", len(data))[:3] + data


def text_row(packet, columns):
    """A row of the text protocol."""
    return tuple(packet.read_length_coded_string() for _ in columns)


FIXED = {"TINY": "b", "SHORT": "h", "YEAR": "h", "INT24": "i", "LONG": "i", "LONGLONG": "q"}


def binary_row(packet, columns):
    """A row of the binary protocol."""
    packet.advance(1)
    nulls = packet.read((len(columns) + 9) // 8)
    row = []
    for place, column in enumerate(columns, 2):
        if nulls[place // 8] >> place % 8 & 1:
            row.append(None)
        else:
            row.append(binary_value(packet, column))
    rest = len(packet.get_all_data()) - packet._position
    if rest:
        raise ValueError(f"{rest} bytes are left of a row")
    return tuple(row)


def binary_value(packet, column):
    """One value, by the type that was announced."""
    if column.type in FIXED:
        letter = FIXED[column.type]
        letter = letter.upper() if column.flags & UNSIGNED_FLAG else letter
        return struct.unpack("<" + letter, packet.read(struct.calcsize(letter)))[0]
    if column.type == "FLOAT":
        return repr(struct.unpack("<f", packet.read(4))[0])
    if column.type == "DOUBLE":
        return repr(struct.unpack("<d", packet.read(8))[0])
    if column.type in ("DATE", "DATETIME", "TIMESTAMP"):
        data = packet.read(packet.read_uint8())
        year, month, day, hour, minute, second, micros = struct.unpack(
            "<HBBBBBI", data.ljust(11, b"\0"))
        return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}"
    if column.type == "TIME":
        data = packet.read(packet.read_uint8())
        sign, days, hour, minute, second, micros = struct.unpack("<BIBBBI", data.ljust(12, b"\0"))
        return f"{'-' * sign}{days * 24 + hour:02}:{minute:02}:{second:02}.{micros:06}"
    return packet.read_length_coded_string()
