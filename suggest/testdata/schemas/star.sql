-- A star schema: facts by surrogate keys, a dimension of customers, one of employees.
-- person: customer_dimension.customer_key
-- protected: customer_dimension, sales_fact, return_fact, customer_day_snapshot
-- reference: household_dimension
-- others: employee_dimension
-- asked: web_session_fact, budget_fact
-- public: date_dimension, product_dimension, store_dimension, promotion_dimension, stock_fact
-- hidden: customer_dimension.first_name, customer_dimension.email_address, customer_dimension.customer_id, sales_fact.employee_key
-- open: customer_dimension.birth_year, customer_dimension.city, customer_dimension.household_key, sales_fact.product_key, sales_fact.quantity, sales_fact.date_key
CREATE TABLE date_dimension (date_key int PRIMARY KEY, day date, week int, year int);
CREATE TABLE product_dimension (product_key int PRIMARY KEY, name text, brand text, category text);
CREATE TABLE store_dimension (store_key int PRIMARY KEY, name text, region text);
CREATE TABLE promotion_dimension (promotion_key int PRIMARY KEY, name text);
CREATE TABLE household_dimension (household_key int PRIMARY KEY, income_band text, size int);
CREATE TABLE employee_dimension (employee_key int PRIMARY KEY, first_name text, last_name text, hired date);
CREATE TABLE customer_dimension (customer_key int PRIMARY KEY, customer_id varchar(16) UNIQUE NOT NULL, first_name text, email_address text, birth_year int, city text, household_key int REFERENCES household_dimension);
CREATE TABLE sales_fact (date_key int REFERENCES date_dimension, product_key int REFERENCES product_dimension, store_key int REFERENCES store_dimension, customer_key int REFERENCES customer_dimension,
  employee_key int REFERENCES employee_dimension, promotion_key int REFERENCES promotion_dimension, quantity int, amount numeric(10,2));
CREATE TABLE return_fact (date_key int REFERENCES date_dimension, product_key int REFERENCES product_dimension, customer_key int REFERENCES customer_dimension, amount numeric(10,2));
CREATE TABLE customer_day_snapshot (date_key int, customer_key int, balance numeric(10,2), PRIMARY KEY (date_key, customer_key));
CREATE TABLE stock_fact (date_key int REFERENCES date_dimension, product_key int REFERENCES product_dimension, store_key int REFERENCES store_dimension, quantity int, PRIMARY KEY (date_key, product_key, store_key));
CREATE TABLE web_session_fact (session_key int PRIMARY KEY, date_key int REFERENCES date_dimension, cookie_id text, pages int);
CREATE TABLE budget_fact (budget_key int PRIMARY KEY, date_key int REFERENCES date_dimension, account_key int, amount numeric(10,2));
