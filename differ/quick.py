"""The client of protocol.py with a reader of its own: a hundred thousand statements in a minute."""

import struct

from protocol import Client, Column, FIXED, Result, TYPE_NAMES, UNSIGNED_FLAG, encode

PREPARE, EXECUTE, CLOSE, QUERY = 0x16, 0x17, 0x19, 0x03


class Quick(Client):
    """One connection, after PyMySQL has logged in."""

    def __init__(self, port, user, database=None, flags=0):
        super().__init__(port, user, database, flags)
        self.socket, self.buffer = self.connection._sock, b""
        self.known = {}

    def query(self, sql):
        return self._result(QUERY, sql.encode(), False)

    def prepare(self, sql):
        """The number of a prepared statement, or an answer that is an error."""
        packet = self._send(PREPARE, sql.encode())
        if packet[0] == 0xff:
            return None, failed(packet)
        statement, columns, parameters = struct.unpack_from("<IHH", packet, 1)
        for count in (parameters, columns):
            for _ in range(count + bool(count)):
                self._packet()
        return statement, None

    def run(self, statement, values):
        """An execution of a prepared statement."""
        payload = struct.pack("<IBI", statement, 0, 1)
        if values:
            nulls = sum(1 << place for place, value in enumerate(values) if value is None)
            encoded = [encode(value) for value in values]
            payload += nulls.to_bytes((len(values) + 7) // 8, "little") + b"\1"
            payload += b"".join(kind for kind, _ in encoded)
            payload += b"".join(data for _, data in encoded)
        return self._result(EXECUTE, payload, True)

    def close(self, statement):
        """Nothing answers this."""
        payload = struct.pack("<BI", CLOSE, statement)
        self.socket.sendall(struct.pack("<I", len(payload)) + payload)

    def execute(self, sql, values):
        statement, failure = self.prepare(sql)
        if failure:
            return failure, []
        result = self.run(statement, values)
        self.close(statement)
        return result, []

    def _send(self, command, payload):
        length = struct.pack("<I", len(payload) + 1)
        self.socket.sendall(length + bytes([command]) + payload)
        return self._packet()

    def _packet(self):
        while len(self.buffer) < 4:
            self._more()
        end = 4 + int.from_bytes(self.buffer[:3], "little")
        while len(self.buffer) < end:
            self._more()
        packet, self.buffer = self.buffer[4:end], self.buffer[end:]
        return packet

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise ConnectionError(self.connection.port)
        self.buffer += data

    def _result(self, command, payload, binary):
        packet = self._send(command, payload)
        if packet[0] == 0xff:
            return failed(packet)
        result = Result()
        if packet[0] == 0:
            result.affected, at = integer(packet, 1)
            result.insert_id, at = integer(packet, at)
            result.warnings = struct.unpack_from("<H", packet, at + 2)[0]
            if at + 4 < len(packet):
                result.info = text(packet, at + 4)[0].decode(errors="replace")
            return result
        for _ in range(integer(packet, 0)[0]):
            packet = self._packet()
            if packet not in self.known:
                self.known[packet] = described(packet)
            result.columns.append(self.known[packet])
        self._packet()
        while True:
            packet = self._packet()
            if packet[0] == 0xff:
                return failed(packet)
            if packet[0] == 0xfe and len(packet) < 9:
                result.warnings = struct.unpack_from("<H", packet, 1)[0]
                return result
            result.rows.append((binary_row if binary else text_row)(packet, result.columns))


def failed(packet):
    """An error."""
    code = struct.unpack_from("<H", packet, 1)[0]
    return Result(error=(code, packet[9:].decode(errors="replace")))


def integer(packet, at):
    """A length-encoded integer, and where it ends; None for NULL."""
    first = packet[at]
    if first < 251:
        return first, at + 1
    if first == 251:
        return None, at + 1
    size = {252: 2, 253: 3, 254: 8}[first]
    return int.from_bytes(packet[at + 1:at + 1 + size], "little"), at + 1 + size


def text(packet, at):
    """Bytes with their length before them."""
    length, at = integer(packet, at)
    return (None, at) if length is None else (packet[at:at + length], at + length)


def described(packet):
    """A column definition."""
    at = 0
    for _ in range(5):
        name, at = text(packet, at)
    _, at = text(packet, at)
    charset, length, kind, flags, decimals = struct.unpack_from("<HIBHB", packet, at + 1)
    return Column(name.decode(), TYPE_NAMES.get(kind, str(kind)), charset, length, flags, decimals)


def text_row(packet, columns):
    """A row of the text protocol."""
    row, at = [], 0
    for _ in columns:
        value, at = text(packet, at)
        row.append(value)
    return tuple(row)


def binary_row(packet, columns):
    """A row of the binary protocol."""
    at = 1 + (len(columns) + 9) // 8
    nulls, row = packet[1:at], []
    for place, column in enumerate(columns, 2):
        if nulls[place // 8] >> place % 8 & 1:
            row.append(None)
        else:
            value, at = binary_value(packet, at, column)
            row.append(value)
    if at != len(packet):
        raise ValueError(f"{len(packet) - at} bytes are left of a row")
    return tuple(row)


def binary_value(packet, at, column):
    """One value, by the type that was announced."""
    letter = FIXED.get(column.type) or {"FLOAT": "f", "DOUBLE": "d"}.get(column.type)
    if letter:
        letter = letter.upper() if column.flags & UNSIGNED_FLAG and letter not in "fd" else letter
        value = struct.unpack_from("<" + letter, packet, at)[0]
        return repr(value) if letter in "fd" else value, at + struct.calcsize(letter)
    value, at = text(packet, at)
    if column.type in ("DATE", "DATETIME", "TIMESTAMP"):
        year, month, day, hour, minute, second, micros = struct.unpack(
            "<HBBBBBI", value.ljust(11, b"\0"))
        return f"{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}", at
    if column.type == "TIME":
        sign, days, hour, minute, second, micros = struct.unpack("<BIBBBI", value.ljust(12, b"\0"))
        return f"{'-' * sign}{days * 24 + hour:02}:{minute:02}:{second:02}.{micros:06}", at
    return value, at


def as_text(value, column):
    """What the text protocol says of a value of the binary one."""
    if column.type in ("DATE", "DATETIME", "TIMESTAMP", "TIME"):
        if column.type == "DATE":
            return value[:10]
        return value[:-7] + (value[-7:][:column.decimals + 1] if column.decimals else "")
    if column.type == "YEAR":
        return f"{value:04}"
    return str(value)
