set time_zone='+00:00';
set timestamp=1700000000.9178;
create table t (a int primary key);
insert into t values (1);
alter table t add u timestamp(3) default current_timestamp(3), add v datetime default now(), add w datetime(6) default now(6), add d timestamp default current_timestamp on update current_timestamp;
select * from t;
insert into t (a) values (2);
select * from t;
drop table t;
