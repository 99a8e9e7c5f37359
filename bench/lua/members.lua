#!/usr/bin/env sysbench
-- Looks documents up by a value of an array in them, through a multi-valued index.
require("oltp_common")

-- Documents, at most: sysbench gives up if a thread takes 30 seconds to begin.
local DOCUMENTS_MAX = 200000
-- Of these each is in five groups, and each group has about so many.
local GROUP = 10

local function groups()
   return math.floor(math.min(sysbench.opt.table_size, DOCUMENTS_MAX) * 5 / GROUP)
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   -- The first one makes them.
   con:query("SELECT GET_LOCK('members', 600)")
   con:query("CREATE TABLE IF NOT EXISTS members (id INT PRIMARY KEY, doc JSON)")
   local found = con:query_row([[SELECT COUNT(*) FROM information_schema.statistics
      WHERE table_schema = DATABASE() AND table_name = 'members' AND index_name = 'of_group']])
   if tonumber(found) == 0 then
      local group = function(n)
         return string.format("(id * %d + k * %d) MOD %d", 7919 + n * 104729, n + 1, groups())
      end
      con:query(string.format([[INSERT INTO members SELECT id, JSON_OBJECT('number', k, 'name', c,
         'groups', JSON_ARRAY(%s, %s, %s, %s, %s)) FROM sbtest1 WHERE id <= %d]],
         group(0), group(1), group(2), group(3), group(4), DOCUMENTS_MAX))
      con:query([[ALTER TABLE members
         ADD KEY of_group ((CAST(doc->'$.groups' AS UNSIGNED ARRAY)))]])
   end
   con:query("SELECT RELEASE_LOCK('members')")
end

function thread_done()
   con:disconnect()
end

function event()
   local wanted = sysbench.rand.uniform(0, groups() - 1)
   con:query("SELECT id, doc->>'$.number' FROM members WHERE " .. wanted ..
      " MEMBER OF (doc->'$.groups')")
end
