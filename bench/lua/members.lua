#!/usr/bin/env sysbench
-- Looks documents up by a value of an array in them, through a multi-valued index.
require("oltp_common")

-- About so many documents have a value.
local DOCUMENTS = 10

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   -- The first one makes them: each has five groups.
   con:query("SELECT GET_LOCK('members', 3600)")
   con:query([[CREATE TABLE IF NOT EXISTS members (id INT PRIMARY KEY, doc JSON,
      KEY of_group ((CAST(doc->'$.groups' AS UNSIGNED ARRAY))))]])
   local groups = math.floor(sysbench.opt.table_size * 5 / DOCUMENTS)
   local group = function(n)
      return string.format("(id * %d + k * %d) MOD %d", 7919 + n * 104729, n + 1, groups)
   end
   con:query(string.format([[INSERT INTO members SELECT id, JSON_OBJECT('number', k, 'name', c,
      'groups', JSON_ARRAY(%s, %s, %s, %s, %s)) FROM sbtest1
      WHERE NOT EXISTS (SELECT * FROM members LIMIT 1)]],
      group(0), group(1), group(2), group(3), group(4)))
   con:query("SELECT RELEASE_LOCK('members')")
end

function thread_done()
   con:disconnect()
end

function event()
   local wanted = sysbench.rand.uniform(0, math.floor(sysbench.opt.table_size * 5 / DOCUMENTS) - 1)
   con:query("SELECT id, doc->>'$.number' FROM members WHERE " .. wanted ..
      " MEMBER OF (doc->'$.groups')")
end
