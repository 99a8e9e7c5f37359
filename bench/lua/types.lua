#!/usr/bin/env sysbench
-- One prepared point select by primary key whose parameter is a number and a text by turns.
require("oltp_common")

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   lookup = con:prepare("SELECT c FROM sbtest1 WHERE id=?")
   number = lookup:bind_create(sysbench.sql.type.INT)
   text = lookup:bind_create(sysbench.sql.type.VARCHAR, 12)
   is_text = false
end

function thread_done()
   lookup:close()
   con:disconnect()
end

function event()
   local wanted = sysbench.rand.default(1, sysbench.opt.table_size)
   if is_text then
      text:set(tostring(wanted))
      lookup:bind_param(text)
   else
      number:set(wanted)
      lookup:bind_param(number)
   end
   is_text = not is_text
   lookup:execute()
end
