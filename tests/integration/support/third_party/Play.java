// Plays a round through hs4j (com.googlecode.hs4j); prints one line a step: name, tab, result.
// Arguments: port, port_wr, schema.
import com.google.code.hs4j.FindOperator;
import com.google.code.hs4j.HSClient;
import com.google.code.hs4j.IndexSession;
import com.google.code.hs4j.ModifyStatement;
import com.google.code.hs4j.impl.HSClientImpl;
import java.sql.ResultSet;
import java.util.concurrent.Callable;

public class Play {
  static void step(String name, Callable<Object> action) {
    String result;
    try {
      result = String.valueOf(action.call());
    } catch (Exception error) {
      result = "error " + error.getMessage();
    }
    System.out.println(name + "\t" + result);
  }

  static String rows(ResultSet found) throws Exception {
    StringBuilder text = new StringBuilder();
    while (found.next()) {
      text.append('[').append(found.getString(1)).append('|').append(found.getString(2)).append(']');
    }
    return text.toString();
  }

  public static void main(String[] args) throws Exception {
    final HSClient reader = new HSClientImpl("127.0.0.1", Integer.parseInt(args[0]), 2);
    final HSClient writer = new HSClientImpl("127.0.0.1", Integer.parseInt(args[1]));
    final String schema = args[2];
    final String[] columns = {"id", "name", "grp"};
    final IndexSession read = reader.openIndexSession(schema, "people", "PRIMARY", columns);
    final IndexSession write = writer.openIndexSession(schema, "people", "PRIMARY", columns);
    step("open missing", () -> reader.openIndex(77, schema, "nobody", "PRIMARY", columns));
    step("insert", () -> write.insert(new String[] {"10", "Zo\u00eb \t\u0001\u65e5", "1"}));
    step("insert duplicate", () -> write.insert(new String[] {"10", "again", "1"}));
    step("insert statement", () -> {
      ModifyStatement statement = write.createStatement();
      statement.setInt(1, 11);
      statement.setString(2, "eleven");
      statement.setLong(3, 2);
      return statement.insert();
    });
    step("find", () -> rows(read.find(new String[] {"10"})));
    step("find none", () -> rows(read.find(new String[] {"12"})));
    step("find range", () -> rows(read.find(new String[] {"1"}, FindOperator.GE, 3, 1)));
    step("find down", () -> rows(read.find(new String[] {"3"}, FindOperator.LT, 10, 0)));
    step("update", () -> write.update(new String[] {"11"}, new String[] {"11", "named", "3"}, FindOperator.EQ));
    step("find changed", () -> rows(read.find(new String[] {"11"})));
    step("delete", () -> write.delete(new String[] {"10"}));
    step("delete none", () -> write.delete(new String[] {"10"}, FindOperator.EQ));
    step("insert on the read port", () -> read.insert(new String[] {"99", "no", "1"}));
    reader.shutdown();
    writer.shutdown();
  }
}
