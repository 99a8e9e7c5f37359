#!/usr/bin/env sysbench
-- A scan of JSON documents for those that have a value under a path.
require("oltp_common")

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   -- The first one makes them.
   con:query("SELECT GET_LOCK('documents', 600)")
   con:query("CREATE TABLE IF NOT EXISTS documents (id INT PRIMARY KEY, doc JSON)")
   con:query([[INSERT INTO documents SELECT id, JSON_OBJECT('number', k, 'name', c, 'tags',
      JSON_ARRAY('red', 'large', id), 'size', JSON_OBJECT('width', id % 100, 'height', k % 7))
      FROM sbtest1 WHERE NOT EXISTS (SELECT * FROM documents LIMIT 1)]])
   con:query("SELECT RELEASE_LOCK('documents')")
end

function thread_done()
   con:disconnect()
end

function event()
   local wanted = sysbench.rand.uniform(0, 99)
   con:query("SELECT COUNT(*) FROM documents WHERE JSON_EXTRACT(doc, '$.size.width') = " .. wanted)
end
