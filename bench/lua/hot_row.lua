#!/usr/bin/env sysbench
-- Everybody updates the same row, autocommit or in a transaction.
require("oltp_common")

sysbench.cmdline.options.around = { "What is around the UPDATE: none or begin", "none" }

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   update = con:prepare("UPDATE sbtest1 SET k = k + 1 WHERE id = ?")
   id = update:bind_create(sysbench.sql.type.INT)
   update:bind_param(id)
end

function thread_done()
   update:close()
   con:disconnect()
end

function event()
   if sysbench.opt.around == "begin" then
      con:query("BEGIN")
   end
   id:set(1)
   update:execute()
   if sysbench.opt.around == "begin" then
      con:query("COMMIT")
   end
end
