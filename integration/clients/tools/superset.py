"""A chart of Superset: a saved query is a table of its own, behind SQLAlchemy, with a limit of rows."""
import pandas
import sqlalchemy

from table import DATABASE, HOST, PASSWORD, PORT, QUESTION, USER, show

url = sqlalchemy.engine.URL.create("postgresql+psycopg2", USER, PASSWORD, HOST, int(PORT), DATABASE)
virtual = f"SELECT * FROM (\n{QUESTION}\n) AS virtual_table\n LIMIT 1001"
with sqlalchemy.create_engine(url).connect() as connection:
    result = connection.execute(sqlalchemy.text(virtual))
    frame = pandas.DataFrame(result.fetchall(), columns=result.keys())
show(frame.columns, frame.values.tolist())
