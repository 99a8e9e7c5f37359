-- What may stand in DEFAULT (expression), and what rows get of it when a column is added.
create table d1 (a int);
insert into d1 values (1), (2);
-- Values of one session or moment cannot be repeated on a replica.
alter table d1 add u varchar(40) default (uuid());
alter table d1 add u varchar(40) default (concat('x', rand())), algorithm=copy;
alter table d1 add u varchar(40) default (user());
alter table d1 add u varchar(40) default (current_user());
alter table d1 add u varchar(40) default (session_user());
alter table d1 add u bigint unsigned default (uuid_short());
alter table d1 add u datetime default (sysdate());
-- A change of the default alone fills no rows.
alter table d1 add b varchar(40);
alter table d1 modify b varchar(40) default (uuid());
alter table d1 alter b set default (rand());
select * from d1;
-- The settings of the session hold for the rows.
set div_precision_increment = 9, default_week_format = 3, timestamp = 1700000000.5, time_zone = '+02:00';
alter table d1 add c varchar(40) default (1/3);
alter table d1 add d varchar(40) default (database());
alter table d1 add e int default (week('2024-01-03'));
alter table d1 add f varchar(40) default (now(3));
alter table d1 add g bigint default (unix_timestamp());
alter table d1 add h varchar(60) default (charset('x'));
select a, c, d, e, f, g, h from d1;
alter table d1 add i varchar(40) default (connection_id() > 0);
select i from d1;
set div_precision_increment = default, default_week_format = default, timestamp = default, time_zone = default;
-- What no default may have.
create table d2 (a int default (version()));
create table d2 (a int default (sleep(1)));
create table d2 (a int default (last_insert_id()));
create table d2 (a int default (last_insert_id(5)));
create table d2 (a int default (@x));
create table d2 (a int default (1 + @x));
create table d2 (a int default (@@x));
create table d2 (a int default (@@sql_mode));
create table d2 (a int default ((select 1)));
create table d2 (a int default (1 in (select 1)));
create table d2 (a int default (exists (select 1)));
create table d2 (a int default (get_lock('a', 1)));
create table d2 (a int default (release_lock('a')));
create table d2 (a int default (is_used_lock('a')));
create table d2 (a int default (is_free_lock('a')));
create table d2 (a int default (release_all_locks()));
create table d2 (a int default (abs(row_count())));
create table d2 (a int default (benchmark(1, 1)));
create table d2 (a int default (load_file('x')));
alter table d1 add v int default (version());
alter table d1 alter a set default (last_insert_id());
alter table d1 modify a int default (row_count());
-- What every row may have.
create table d2 (a int, b varchar(40) default (uuid()), c double default (rand()), d datetime default (sysdate()), e varchar(90) default (current_user()), f bigint unsigned default (uuid_short()));
insert into d2 (a) values (1), (2);
select count(distinct b), count(distinct c), count(distinct e), count(distinct f), min(d > '2020-01-01') from d2;
-- A mode that reads texts otherwise.
set sql_mode = 'ANSI_QUOTES';
create table d3 (a varchar(20) default (concat('x', 'y')), b int);
insert into d3 (b) values (1);
set sql_mode = default;
insert into d3 (b) values (2);
select * from d3;
drop table d1, d2, d3;
create table d4 (a int default (name_const('a', 1)));
create table d4 (a int default (values(a)));
-- Bytes that are no text are no expression to who reads them.
create table d5 (a int, b varbinary(4) default 0x00ff);
insert into d5 (a) values (1);
alter table d5 add c varbinary(4) default 0xff00;
select a, hex(b), hex(c) from d5;
drop table d5;
