#!/usr/bin/env sysbench
-- One prepared INSERT of a row that refers to a parent by a foreign key and has a generated, an
-- ENUM and a JSON column.
require("oltp_common")

local PARENTS = 1000

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   con:query("CREATE TABLE IF NOT EXISTS parent (id INT PRIMARY KEY)")
   con:query([[CREATE TABLE IF NOT EXISTS child (id INT PRIMARY KEY AUTO_INCREMENT, parent INT NOT NULL,
      price INT NOT NULL, total INT AS (price * 2) STORED, state ENUM('new', 'paid', 'sent') NOT NULL,
      facts JSON, KEY (total), FOREIGN KEY (parent) REFERENCES parent (id))]])
   for id = 1, PARENTS, 100 do
      local rows = {}
      for more = 0, 99 do
         rows[#rows + 1] = "(" .. id + more .. ")"
      end
      con:query("INSERT IGNORE INTO parent VALUES " .. table.concat(rows, ", "))
   end
   insert = con:prepare("INSERT INTO child (parent, price, state, facts) VALUES (?, ?, ?, ?)")
   parent = insert:bind_create(sysbench.sql.type.INT)
   price = insert:bind_create(sysbench.sql.type.INT)
   state = insert:bind_create(sysbench.sql.type.VARCHAR, 8)
   facts = insert:bind_create(sysbench.sql.type.VARCHAR, 80)
   insert:bind_param(parent, price, state, facts)
end

function thread_done()
   insert:close()
   con:disconnect()
end

function event()
   local number = sysbench.rand.uniform(1, 1000000)
   parent:set(sysbench.rand.uniform(1, PARENTS))
   price:set(number)
   state:set(({ "new", "paid", "sent" })[number % 3 + 1])
   facts:set('{"number": ' .. number .. ', "tags": ["red", "large"], "name": "a name"}')
   insert:execute()
end
