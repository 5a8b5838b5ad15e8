from hs import reply
def test_session_everyone_starts_with(server, db, sql, hs_rd):
    sql.run("CREATE TABLE user (user_id INT UNSIGNED PRIMARY KEY, user_name VARCHAR(50), "
            "user_email VARCHAR(255), created DATETIME) ENGINE=InnoDB")
    sql.run("INSERT INTO user VALUES (101, 'Yukari Takeba', 'yukari.takeba@example.com', '2010-02-03 11:22:33')")
    assert hs_rd.open_index(0, db, "user", "PRIMARY", "user_name,user_email,created") == reply(0, 1)
    assert hs_rd.find(0, "=", [101]) == reply(
        0, 3, "Yukari Takeba", "yukari.takeba@example.com", "2010-02-03 11:22:33")
