"""What a database holds, as lines that two servers can be compared by."""

import pymysql


class Tables:
    """A connection to the program's database."""

    def __init__(self, host, port, user, database):
        self.connection = pymysql.connect(host=host, port=int(port), user=user, database=database,
                                          autocommit=True, charset="utf8mb4")

    def rows(self, query, *parameters):
        """The rows of a query, as lists."""
        self.connection.ping(reconnect=True)
        with self.connection.cursor() as cursor:
            cursor.execute(query, parameters or None)
            return [list(row) for row in cursor.fetchall()]

    def definitions(self, types=True):
        """Each column and index of the database, a line each. Without `types` only what MariaDB
        shows as MySQL does: it has other texts for types, defaults and character sets."""
        columns = self.rows(
            "SELECT table_name, column_name, column_type, is_nullable, column_default, extra, "
            "character_set_name, collation_name, column_key FROM information_schema.columns "
            "WHERE table_schema = DATABASE() ORDER BY table_name, ordinal_position")
        indexes = self.rows(
            "SELECT table_name, index_name, non_unique, seq_in_index, column_name, sub_part "
            "FROM information_schema.statistics WHERE table_schema = DATABASE() "
            "ORDER BY table_name, index_name, seq_in_index")
        keys = self.rows(
            "SELECT table_name, constraint_name, update_rule, delete_rule, referenced_table_name "
            "FROM information_schema.referential_constraints "
            "WHERE constraint_schema = DATABASE() ORDER BY table_name, constraint_name")
        # Names in the order of their characters, whatever a server's own names are compared by.
        indexes.sort(key=str)
        keys.sort(key=str)
        if types:
            return columns + indexes + keys
        plain = [[table, column, nullable, key] for table, column, _, nullable, *_, key in columns]
        return sorted(plain, key=lambda line: line[0]) + indexes + keys

    def counts(self):
        """Each table that has rows, and how many."""
        names = [name for (name,) in self.rows(
            "SELECT table_name FROM information_schema.tables "
            "WHERE table_schema = DATABASE() AND table_type = 'BASE TABLE' ORDER BY table_name")]
        names.sort()
        counted = {name: self.rows(f"SELECT COUNT(*) FROM `{name}`")[0][0] for name in names}
        return {name: count for name, count in counted.items() if count}
