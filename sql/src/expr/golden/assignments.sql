# type | value: what INSERT stores, and how it complains.
tinyint | 127
tinyint | 128
tinyint | -129
tinyint | '12'
tinyint | '12abc'
tinyint | 'abc'
tinyint | ''
tinyint | 1.5
tinyint | 2.5
tinyint | 1.5e0
tinyint | 2.5e0
tinyint | '1.5'
tinyint | '1e2'
tinyint | NULL
tinyint unsigned | 255
tinyint unsigned | -1
tinyint unsigned | 256
smallint | 32768
mediumint | 8388608
mediumint | -8388608
int | 2147483648
int | '  42  '
int | DATE '2024-02-29'
int | TIME '12:34:56'
bigint | 9223372036854775808
bigint | '9223372036854775808'
bigint | 1e30
bigint unsigned | 18446744073709551615
bigint unsigned | 18446744073709551616
float | 1.5
float | 1e39
float | 'abc'
float | '1.5x'
double | 1e308
double | 'abc'
double | ''
double | '1.5 '
decimal(5,2) | 123.45
decimal(5,2) | 123.456
decimal(5,2) | 1234.5
decimal(5,2) | -1234.5
decimal(5,2) | 'abc'
decimal(5,2) | '1.5x'
decimal(5,2) | '1.555'
decimal(5,2) | 1.5e0
decimal(5,2) | ''
decimal(5,2) | 2/3
char(3) | 'abc'
char(3) | 'abcd'
char(3) | 'abc  '
char(3) | 'a  '
char(3) | 12
char(3) | 12345
varchar(3) | 'abc'
varchar(3) | 'abcd'
varchar(3) | 'abc  '
varchar(3) | 'ab '
varchar(3) | 'äöü'
varchar(3) | x'FF41'
varchar(10) | 1.50
varchar(20) | DATE '2024-02-29'
varchar(20) | 1e20
varbinary(3) | 'abcd'
varbinary(3) | x'00FF'
tinytext | REPEAT('a', 256)
date | '2024-02-29'
date | '2024-02-30'
date | '2024-02-29 12:34:56'
date | '2024-02-29x'
date | 'abc'
date | ''
date | 20240229
date | 240229
date | 0
date | '0000-00-00'
date | '2024-00-01'
date | '2024-1-1'
datetime | '2024-02-29 12:34:56'
datetime | '2024-02-29 12:34:56.5'
datetime | '2024-02-29T12:34:56'
datetime | '2024-02-29 12:34:56+01:00'
datetime | '2024-02-29'
datetime | 20240229123456
datetime | 'x'
datetime | '2024-02-29 25:00:00'
datetime(3) | '2024-02-29 12:34:56.7896'
datetime(6) | '2024-02-29 12:34:56.123456'
timestamp | '2024-02-29 12:34:56'
timestamp | '1969-01-01 00:00:00'
timestamp | '2040-01-01 00:00:00'
timestamp(2) | '2024-02-29 12:34:56.789'
time | '12:34:56'
time | '12:34'
time | '1 02:03:04'
time | '-12:34:56'
time | '900:00:00'
time | 'abc'
time | 123456
time | 129999
time | 9000000
time | '2024-02-29 12:34:56'
time(1) | '12:34:56.78'
year | 2024
year | '2024'
year | 24
year | 70
year | 0
year | '0'
year | 1900
year | 2156
year | 'abc'
