# What clients say of themselves; nobody has connected so here.
select processlist_id, attr_name, attr_value, ordinal_position from performance_schema.session_connect_attrs where attr_name = 'nothing';
select * from performance_schema.session_account_connect_attrs where processlist_id = 0;
select count(*) from performance_schema.session_connect_attrs where processlist_id is null;
