-- Classes are those of Unicode, $ is before the end of the last line, too.
select 'é' regexp '[[:alpha:]]', 'ß' regexp '^[[:alpha:]]$', 'É' regexp '[[:upper:]]', '٣' regexp '[[:digit:]]', 'é' regexp '\\w', '٣' regexp '\\d', 'a' regexp '[^[:alpha:]]', 'é' regexp '[[:alnum:]_]', '\t' regexp '[[:space:]]', ' ' regexp '[[:blank:]]', '!' regexp '[[:punct:]]', 'g' regexp '[[:xdigit:]]';
select '$' regexp '[[:punct:]]', '+' regexp '[[:punct:]]', '<' regexp '[[:punct:]]', '^' regexp '[[:punct:]]', '|' regexp '[[:punct:]]', '~' regexp '[[:punct:]]', '`' regexp '[[:punct:]]', '_' regexp '[[:punct:]]', '-' regexp '[[:punct:]]', '€' regexp '[[:punct:]]';
select 'a' regexp '[[:graph:]]', ' ' regexp '[[:graph:]]', ' ' regexp '[[:print:]]', '\n' regexp '[[:print:]]', '\n' regexp '[[:cntrl:]]', 'a' regexp '[[:word:]]', 'é' regexp '[[:graph:]]', '1' regexp '[[:^alpha:]]', 'a' regexp '[[:^alpha:]]', 'ab' regexp '[[:alpha:][:digit:]]{2}', 'é' collate utf8mb4_bin regexp '[[:upper:]]', 'a' collate utf8mb4_bin regexp '[[:lower:]]', '\t' regexp '[[:blank:]]';
select 'a\n' regexp 'a$', 'a\n\n' regexp 'a$', 'a\nb' regexp 'a$', 'a\r\n' regexp 'a$', 'a\n' regexp '^a$', 'a' regexp 'a\\z', 'a\n' regexp 'a\\Z', 'a\n' regexp 'a\\z', 'a\r' regexp 'a$', 'ab' regexp 'a$|b$', 'a$' regexp 'a\\$', 'a$' regexp '[$]$', 'a$b' regexp 'a$b', 'a' regexp '^$', '' regexp '^$', '\n' regexp '^$';
select 'a\nb' regexp 'a.b', 'a\rb' regexp 'a.b', 'a\nb' regexp '(?s)a.b', 'a.b' regexp 'a[.]b', 'a\nb' regexp '(?m)a$', 'a\nb' regexp '(?im)A$';
select regexp_like('a\nb','a$','m'), regexp_like('a\nb','a.b','n'), regexp_like('a\nb','^b$','m'), regexp_like('a\nb','^b','mn');
select 'ab' regexp '\\Qab\\E', 'a.b' regexp '\\Qa.b\\E$', 'axb' regexp '\\Qa.b\\E', 'ab' regexp '(?#c)ab', 'ab' regexp '(?x) a b', 'ab' regexp '\\p{L}', 'a-' regexp '[a\\-]', ']' regexp '[]]', ']' regexp '[^]]', 'a' regexp '\\x61', 'a' regexp '\\u0061', 'a' regexp '[[a-c]&&[b-d]]', 'b' regexp '[[a-c]&&[b-d]]', 'a' regexp 'a??', 'aa' regexp 'a{2}?';
select 'ab' regexp '[[:nope:]]';
select 'a]' regexp '[[:alpha:]]]', '[' regexp '[[]';
-- What is not there is said.
select 'abab' regexp '(ab)c';
select 'a' regexp '[';
