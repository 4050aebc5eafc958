"""A time series of Grafana: a column "time", and a line for each column of numbers."""
import psycopg2

from table import show

cursor = psycopg2.connect("").cursor()
cursor.execute("""SELECT make_date(birth_year / 20 * 20, 1, 1) AS "time", count(*) AS n,
  sum(count(*)) OVER (ORDER BY make_date(birth_year / 20 * 20, 1, 1)) AS share
FROM patients GROUP BY 1 ORDER BY 1""")
show([c.name for c in cursor.description], cursor.fetchall())
