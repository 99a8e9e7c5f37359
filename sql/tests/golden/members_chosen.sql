-- ENUM and SET as the branches of IF and CASE, and in arithmetic.
create table t (e enum('b','a','12'), s set('x','y'));
insert into t values ('a','y'),('12','x,y'),(null,null);
select coalesce(e,'x')+0, ifnull(e,'q')+0, greatest(e,e)+0, (case when 1 then e end)+0, if(1,e,'z')+0, if(1,e,'x')|0, coalesce(e,e)|0, case when 1 then e end|0 from t;
select cast(coalesce(e,e) as signed), cast(if(1,e,e) as signed), cast(case when 1 then e end as signed), cast(if(1,e,e) as decimal(5,1)), cast(if(1,e,e) as double) from t;
select if(1,e,'x')=2, if(1,e,'x')='12', case when 1 then e else 'z' end=3, coalesce(e,'x')=2, ifnull(e,'x')=2 from t;
select sum(if(1,e,e)), sum(coalesce(e,e)), avg(case when 1 then s end) from t;
select e+18446744073709551614, e*1.5, e div 2, e+9223372036854775807, 5-e, e%2 from t;
select not if(1,e,e), if(1,e,e) and 1, -if(1,e,e), abs(if(1,e,e)) from t;
select if(1,e,'z') x from t order by x;
select distinct if(1,e,e), case s when 2 then e else s end from t order by 1;
select max(if(1,e,e)), min(case when 1 then e end), group_concat(if(1,e,e) order by if(1,e,e)) from t;
select q.x+0, q.x from (select distinct if(1,e,e) x from t) q order by q.x;
create table u (v varchar(10), i int, e enum('b','a','12'));
insert into u select if(1,e,e), case when 1 then e end, if(1,e,'b') from t where e='a';
select * from u;
select e+0 from t where if(1,e,'x') in ('12',2) order by e;
select e from t where if(1,e,e) between 2 and 3 order by e;
select concat(if(1,e,e)), length(case when 1 then s end), if(1,e,1)+0, if(1,e,1.5), if(0,e,1.5)+0 from t;
