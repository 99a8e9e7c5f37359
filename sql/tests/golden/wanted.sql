-- What an operand is where a number, an integer, a text or a date is wanted of it.
create table o (id int primary key, i int, b bigint, u bigint unsigned, n decimal(10,2), m decimal(30,10), f double, c varchar(40), g varchar(40) collate utf8mb4_bin, y varbinary(20), d date, t time, e datetime(3));
insert into o values (1, 5, 7, 2, 1.5, 0.0000000001, 1e20, '10:11:12', 'a', 'a', '2020-01-02', '10:11:12', '2020-01-02 10:11:12.345'), (2, 0, 0, 0, -12.34, -3, -2.25, 'A', '12', '12', '2024-02-29', '-30:00:00', null), (3, null, 9223372036854775807, 9223372036854775809, 0, null, 0.1, 'é', '1e2', null, null, null, '2020-01-02');
-- Floating point numbers beyond integers: clipped as literals, told of in columns, refused from functions.
select 1e20|0, ~1e20, 1<<1e20, cast(1e19 as unsigned), hex(1e20);
select f|0 from o where id = 1;
select cast(f as signed), cast(f as unsigned) from o where id = 1;
select bit_or(f), bit_and(f) from o where id = 1;
select (1e20+1)|0;
select -f|0 from o where id = 1;
select abs(f)|0 from o where id = 1;
select cast(sqrt(f*f) as signed) from o where id = 1;
select ifnull(f,1)|0 from o where id = 1;
select coalesce(f,1)|0 from o where id = 1;
select greatest(f,1)|0 from o where id = 1;
select if(1,f,1)|0, case 1 when 1 then f end|0, nullif(f,1)|0 from o where id = 1;
select bit_or(f+1) from o where id = 1;
select left('abc',1e20+1);
select bit_count(abs(1e20));
select hex(f/10) from o where id = 1;
select cast(coalesce(1e20,2) as signed);
-- Of COALESCE and the like a text that is no number is 0 without a word.
select coalesce('abc',2)+1, coalesce('abc',2)|1, greatest('abc','b')+1, 1=coalesce('abc',1), ifnull('2x',1)*2, coalesce('2x') in (2,3);
select sum(coalesce(c,c)), avg(ifnull(c,0)), bit_or(coalesce(c,g)) from o;
select cast(coalesce('abc',1) as signed), if(1,'abc',2)+1, nullif('abc','b')+1, upper('abc')|1;
select cast(ltrim('-2abc') as decimal(12,3)), cast(concat('1','x') as decimal(5,1));
-- IF and CASE are what their branch is.
select if(1,9007199254740993,f)|0, cast(if(1,9007199254740993,f) as unsigned), case 1 when 1 then b else f end|0 from o where id = 3;
select cast(case when 1 then 0.30 else -1e3 end as char), concat(if(1,0.30,1e0),''), conv(if(0,1e0,18446744073709551614),10,16);
select if(0,1.25,1), -if(0,1.25,1), abs(if(0,m,1)), if(0,1.25,1)*2, floor(2)*if(0,n,10), 20 % if(0,m,1.5) from o where id = 1;
select min(if(0,1.25,1)), max(if(1,-1,1.5)), sum(if(0,1.25,1)) from o;
select x from (select if(1,-1,1.5) as x union all select 1) q;
select x from (select if(i,-1,1.5) as x from o) q;
-- NULL has the digits of what stands beside it.
select coalesce(n-null,1), coalesce(null/3,1), coalesce(1+null,2), coalesce(1.5*null,2), coalesce(f+null,2), coalesce(null%2,3) from o where id = 1;
select x from (select 9007199254740993 as x union all select null*1) q order by x;
select x from (select length('2020-01-02') as x union all select null/3) q order by x;
-- A character may be several bytes.
select hex(coalesce(cast('é' as binary),1)), hex(ifnull(cast('é' as binary),'x')), hex(if(1,cast('éé' as binary),'')), hex(convert('é' using binary)), length(convert('éé' using binary)), hex(coalesce(cast('é' as char charset binary),1));
select hex(x) from (select cast('é' as binary) as x union all select 'a') q;
select hex(max(cast('é' as binary))), hex(coalesce(null,repeat('é',20),y)) from o where id = 3;
select hex(x) from (select c as x from o union all select y from o union all select repeat('é',20)) q order by 1;
-- Among texts and dates all are dates, in BETWEEN and IN.
select '20200102' in ('2020-01-02',d), '20200102' in ('2020-01-02',20200102,d), '2020-01-02' in ('20200102',null,d), d from o order by id;
select '2020-01-02' between '20200102' and d, '2020-01-02' not between '2019-12-31' and e, '2020-01-02' between d and '20200103' from o where id = 1;
select '2020-1-2' in (date'2020-01-02','2020-01-02'), '2020-01-02 00:00:00' in ('1999-01-01',date'2020-01-02');
select '10:11:12' between t and '101112', '10:11:12' in (t,'101112') from o order by id;
select greatest('2020-01-02 10:11:12',d), greatest('20200102',d), least('20240301',d), greatest(e,'20200102101112'), greatest(e,'2020-01-02 10:11:12.3456'), greatest(d,20200103) from o where id = 1;
select greatest('a','A'), least('a','A'), greatest('A','a'), least('A','a'), least('a','A','b'), greatest('b','a','B');
-- What is padded or replaced keeps its collation; what is searched, is searched with its own.
select collation(lpad('A',5,g)), collation(rpad(g,5,c)), collation(replace(c,'x',g)), collation(insert(c,1,1,g)), collation(concat('A',g)), collation(lpad('A',5,y)), collation(replace(g,c,c)), collation(replace(1,g,'b')) from o where id = 1;
select instr('A',g), locate(g,'A'), field('A',g), instr(g,'A'), locate('A',g), field(g,'A'), instr('A' collate utf8mb4_bin,c), field('A','b','a' collate utf8mb4_bin) from o where id = 1;
-- NULL on the left ends it.
select null = cast('a' as signed), null < cast('a' as signed), null between cast('a' as signed) and 2, null like cast('a' as signed), null | cast('a' as signed), null div cast('a' as signed), null xor cast('a' as signed), nullif(null,cast('a' as signed)), case null when cast('a' as signed) then 1 end, (null,1) = (cast('a' as signed),1);
select null + cast('a' as signed), null <=> cast('a' as signed), null and cast('a' as signed);
select count(cast('a' as signed)) from o;
select conv('',10,16), conv(' ',10,16), conv('zz',10,16), conv('99999999999999999999',10,16), timestamp(null), if(0,timestamp(null),last_day('2020-01-01'));
insert into o(id,u) values(300,-0.25);
insert ignore into o(id,u) values(304,-0.25);
insert into o(id,u) values(301,-0.25e0), (302,'-0.25'), (303,-0.0);
update o set n = 1.239e0 where id = 301;
insert into o(id,i) values(305,abs(1e20)|0);
-- Each argument is evaluated once.
set @n = 0;
select hex(@n := @n + 1), conv(@n := @n + 1, 10, 16), field(@n := @n + 1, '1', '3'), field(concat(@n := @n + 1), '1', '4'), field('6', concat(@n := @n + 1), concat(@n := @n + 1)), hex(concat(@n := @n + 1)), @n;
select unix_timestamp(@n := @n + 20200101), sec_to_time(@n := @n + 9000000), @n;
-- Years of one digit.
select cast('1-1-1' as date), cast('9-12-31' as date), cast('10-1-1' as date), cast('00-1-1' as date), date('1-1-1 1:1:1'), timestamp('5-6-7 8:9:10'), cast('1.2.3' as datetime), cast('001-1-1' as date), cast('70-1-1' as date), cast('69-1-1' as date), year('7-1-1');
drop table o;
