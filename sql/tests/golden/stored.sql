-- A column of texts keeps dates, times and numbers with the digits that their expression shows.
set timestamp = 1700000000.654321;
create table s1 (v varchar(40), w varchar(40) default (now(3)), z varchar(40) default (cast(1.5 as time(2))), i int default 3);
insert into s1 (v) values (now(3));
insert into s1 (v) values (cast('10:00:00' as time(3)));
insert into s1 (v) select now(1);
insert into s1 (v) select now(1) union select now(2);
insert into s1 (v, w) values (now(3), now(4));
select * from s1;
update s1 set v = now(3);
select v from s1;
update s1 set v = coalesce(now(1), now(2)) where i = 3;
select v from s1;
update s1 set v = (select now(5));
replace into s1 (v) values (timestamp('2020-01-01 10:00:00', '10:10:10.5'));
select v from s1;
-- The digits of the current time are not lost on the way into a column of moments.
create table s2 (id int primary key auto_increment, d datetime(6), t time(6));
insert into s2 (d, t) values (now(3), curtime(2)), (now(6), curtime(4)), (sysdate(0) > '2020-01-01', '1');
insert into s2 (d, t) values (now(3), curtime(2)), (now(6), curtime(4));
insert into s2 (d, t) values (current_timestamp(2), current_time(1)), (localtime(3), utc_time(5)), (localtimestamp(4), null), (utc_timestamp(6), null);
select * from s2;
update s2 set d = now(1), t = curtime(3) where id = 1;
update s2 set t = null where d > now(5);
select * from s2;
select count(*) from s2 where d = now(3);
select id from s2 where d <= now(3) and d >= now(1) order by id;
delete from s2 where d >= now(6);
select id from s2 order by id;
-- Numbers, and functions whose digits are those of a text.
insert into s1 (v) values (round(1.2345, 2)), (truncate(1.2345, 3)), (round(1.5e0, 1)), (-18446744073709551615), (1.50), (1e3);
insert into s1 (v) values (addtime('2020-01-01 00:00:00.5', '1')), (timediff('10:00:00.25', '01:00:00')), (unix_timestamp('2020-01-01 00:00:00.5') > 0), (str_to_date('2020-01-02', '%Y-%m-%d')), (str_to_date('10:11:12', '%H:%i:%s')), (maketime(1, 2, 3.25)), (sec_to_time(1.5)), (timestamp('2020-01-02 10:11:12.5')), (time('10:11:12.5'));
select v from s1;
drop table s1, s2;
-- A constant beyond BIGINT that is negated is a decimal, wherever it stands.
create table s3 (id int primary key, n int, f double, m decimal(30,0));
insert into s3 values (1, 1, 1e20, -18446744073709551615), (2, 2, 5, - 9223372036854775809);
select * from s3 where m < - 9223372036854775809;
select id from s3 where m = -18446744073709551615;
update s3 set m = - 18446744073709551614 where id = 2;
select m from s3;
-- What an expression loses is told before the column that it was meant for.
update s3 set n = (f | 1);
update s3 set n = cast(f as signed);
update s3 set n = (f << 2) where id = 1;
insert into s3 (id, n) select 3, f | 1 from s3 where id = 1;
insert into s3 (id, n) values (4, 1e20 | 1);
select * from s3;
drop table s3;
-- No character is lost by a length that was thought too short.
select cast(to_base64('a') as char), cast(to_base64(repeat('a', 60)) as char);
select cast('12' / timestamp'2020-01-02 10:11:12.125' as char), cast(atan2(1, date'2020-01-02') as char);
select cast(replace('2020-01-02', 'a%', 'NULL') as char), cast(replace('aaa', 'a', 'bcd') as char);
