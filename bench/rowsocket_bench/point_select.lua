-- For sysbench: SELECT of one row of test.user by its primary key.
sysbench.cmdline.options = { rows = { "rows in the table", 1000000 } }

function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
  connection:query("SELECT user_name,user_email,created FROM user WHERE user_id="
    .. sysbench.rand.uniform(1, sysbench.opt.rows))
end

function thread_done()
  connection:disconnect()
end
