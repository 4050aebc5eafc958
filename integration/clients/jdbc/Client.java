import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.postgresql.util.PSQLException;

/** pgjdbc: metadata, prepared statements, fetch sizes, timeouts. */
public class Client {
    static final String AGGREGATE = "SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits"
        + " WHERE hospital_id > ? GROUP BY diagnosis ORDER BY diagnosis";
    static final String PAGES = "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis";
    static final String CHARGES = "SELECT round(spent / 0.1)::int FROM dp.budget WHERE kind = 'unit'";

    static void say(String step, Object... what) {
        StringBuilder line = new StringBuilder(step + ":");
        for (Object o : what) {
            line.append(' ').append(o);
        }
        System.out.println(line);
    }

    /** Writes the named columns of all rows. */
    static void list(ResultSet rows, String... columns) throws SQLException {
        while (rows.next()) {
            Object[] values = new Object[columns.length];
            for (int i = 0; i < columns.length; i++) {
                values[i] = rows.getObject(columns[i]);
            }
            say("list", values);
        }
        rows.close();
    }

    static int integer(Connection c, String sql) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            r.next();
            return r.getInt(1);
        }
    }

    static void schema(Connection c) throws SQLException {
        DatabaseMetaData m = c.getMetaData();
        list(m.getTables(null, "public", "%", new String[] {"TABLE", "VIEW", "PARTITIONED TABLE"}), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
        list(m.getColumns(null, "public", "%", "%"), "TABLE_NAME", "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME", "COLUMN_SIZE",
            "DECIMAL_DIGITS", "NULLABLE", "ORDINAL_POSITION", "IS_AUTOINCREMENT");
        for (String table : new String[] {"hospitals", "patients", "visits", "labs"}) {
            list(m.getPrimaryKeys(null, "public", table), "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
            list(m.getImportedKeys(null, "public", table), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "FK_NAME", "UPDATE_RULE", "DELETE_RULE");
            list(m.getExportedKeys(null, "public", table), "PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_NAME", "FKCOLUMN_NAME", "FK_NAME");
            list(m.getIndexInfo(null, "public", table, false, false), "INDEX_NAME", "NON_UNIQUE", "COLUMN_NAME", "ORDINAL_POSITION", "ASC_OR_DESC");
        }
        list(m.getFunctions(null, "public", "%"), "FUNCTION_NAME");
    }

    static void aggregate(Connection c) throws SQLException {
        try (PreparedStatement s = c.prepareStatement(AGGREGATE)) {
            // In simple mode the driver asks with the parameter left out, which no server understands.
            ResultSetMetaData m = System.getenv("JDBC_QUERY_MODE") == null ? s.getMetaData() : null;
            for (int i = 1; m != null && i <= m.getColumnCount(); i++) {
                say("described", m.getColumnName(i), m.getColumnTypeName(i), m.getColumnClassName(i));
            }
            for (int turn = 0; turn < 7; turn++) { // from the fifth on it is a named statement with binary results
                s.setInt(1, 0);
                ResultSet r = s.executeQuery();
                while (r.next()) {
                    if (turn == 0 || turn == 6) {
                        say("aggregate", r.getString(1) + "/" + r.getObject(1).getClass().getSimpleName(),
                            "#/" + r.getObject(2).getClass().getSimpleName(), "#/" + r.getObject(3).getClass().getSimpleName());
                    }
                }
            }
        }
    }

    static void page(Connection c) throws SQLException {
        int before = integer(c, CHARGES);
        c.setAutoCommit(false);
        int rows = 0;
        try (PreparedStatement s = c.prepareStatement(PAGES)) {
            s.setFetchSize(1);
            ResultSet r = s.executeQuery();
            while (r.next()) {
                rows++;
            }
        }
        c.commit();
        c.setAutoCommit(true);
        say("page", rows, "rows", integer(c, CHARGES) - before, "charge");
    }

    static void fail(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            s.executeQuery("SELECT pg_sleep(60)");
        } catch (SQLException e) {
            say("cancel", e.getSQLState());
        }
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.executeQuery("SELECT * FROM patients");
        } catch (PSQLException e) {
            say("error", e.getSQLState(), e.getServerErrorMessage().getMessage(), "at", e.getServerErrorMessage().getPosition());
        }
        c.rollback();
        c.setAutoCommit(true);
        say("recover", integer(c, "SELECT 1"), c.isValid(5));
    }

    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.setProperty("user", System.getenv("PGUSER"));
        p.setProperty("password", System.getenv("PGPASSWORD"));
        if (System.getenv("PGSSLROOTCERT") != null) {
            p.setProperty("sslmode", "verify-full");
            p.setProperty("sslrootcert", System.getenv("PGSSLROOTCERT"));
        }
        if (System.getenv("JDBC_QUERY_MODE") != null) {
            p.setProperty("preferQueryMode", System.getenv("JDBC_QUERY_MODE"));
        }
        String url = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");
        try (Connection c = DriverManager.getConnection(url, p)) {
            say("connect", "ok");
            schema(c);
            if (args.length > 0 && args[0].equals("list")) {
                return;
            }
            aggregate(c);
            page(c);
            fail(c);
        }
    }
}
