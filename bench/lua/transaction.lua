#!/usr/bin/env sysbench
-- One point select by primary key, with or without a transaction around it.
require("oltp_common")

sysbench.cmdline.options.around = {
   "What is around the SELECT: none, begin, autocommit0 or read_only", "none"
}

local starts = { begin = "BEGIN", read_only = "START TRANSACTION READ ONLY" }

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   start = starts[sysbench.opt.around]
   commit = sysbench.opt.around ~= "none"
   if sysbench.opt.around == "autocommit0" then
      con:query("SET autocommit=0")
   end
   lookup = con:prepare("SELECT c FROM sbtest1 WHERE id=?")
   id = lookup:bind_create(sysbench.sql.type.INT)
   lookup:bind_param(id)
end

function thread_done()
   lookup:close()
   con:disconnect()
end

function event()
   if start then
      con:query(start)
   end
   id:set(sysbench.rand.default(1, sysbench.opt.table_size))
   lookup:execute()
   if commit then
      con:query("COMMIT")
   end
end
