"""pandas, which shows no notices."""
import warnings

import pandas
import psycopg2

from table import QUESTION, show

warnings.simplefilter("ignore")  # it would like SQLAlchemy
frame = pandas.read_sql(QUESTION, psycopg2.connect(""))
show(frame.columns, frame.values.tolist())
