-- A shop with one of each thing that clients list. Texts with "secret" or 4711 could
-- be about rows: the mirror must leave them out.
CREATE SCHEMA "Sçhéma two";
CREATE TYPE order_status AS ENUM ('open', 'paid', 'sent');
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE address AS (street text, "Haus Nr" int, mood mood);
CREATE TYPE span AS RANGE (SUBTYPE = float8);
CREATE DOMAIN cents AS numeric(12,2) CHECK (VALUE < 4711);
CREATE DOMAIN required AS text NOT NULL;
COMMENT ON TYPE mood IS 'secret mood';
CREATE TABLE regions (code varchar(10) PRIMARY KEY, label text NOT NULL);
INSERT INTO regions VALUES ('n', 'north'), ('s', 'south');
CREATE TABLE customers (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, age smallint DEFAULT 4711 CHECK (age < 4711),
	mood mood, home address, aliases text[], region varchar(10) REFERENCES regions ON DELETE SET NULL, born date, "Größe (cm)" real,
	ref uuid UNIQUE, extra jsonb, seen tstzrange, code char(3), flag bool, pic bytea, loc point, ip inet, moods mood[], note required,
	name text NOT NULL); -- the policy hides it; it is the last, so that the others have their numbers
COMMENT ON TABLE customers IS 'secret: Bob is one';
COMMENT ON COLUMN customers.age IS 'secret: the oldest is 108';
CREATE TABLE orders (id bigserial PRIMARY KEY, customer_id int NOT NULL REFERENCES customers ON UPDATE CASCADE ON DELETE CASCADE,
	status order_status NOT NULL DEFAULT 'open', amount numeric(10,2), fee cents, at timestamptz(3) DEFAULT now(), during span,
	doubled numeric GENERATED ALWAYS AS (amount * 4711) STORED, lines int[], took interval day to second(0), CONSTRAINT secret_4711 CHECK (amount <> 4711));
CREATE INDEX orders_at ON orders (at DESC, customer_id) INCLUDE (amount);
CREATE INDEX orders_big ON orders (amount) WHERE amount > 4711;
CREATE INDEX orders_lower ON orders ((amount + 4711));
CREATE TABLE "Sçhéma two"."Größen" ("Kunde ""x""" int NOT NULL, customer_id int NOT NULL REFERENCES customers, region varchar(10) REFERENCES regions,
	PRIMARY KEY (customer_id, "Kunde ""x"""));
CREATE VIEW v_orders AS SELECT id, amount FROM orders WHERE amount <> 4711;
INSERT INTO customers (name, age, note) SELECT 'secret ' || g, g % 90, '' FROM generate_series(1, 50) g;
INSERT INTO orders (customer_id, amount) SELECT g % 50 + 1, g FROM generate_series(1, 200) g;
CREATE ROLE ana LOGIN;
GRANT USAGE ON SCHEMA "Sçhéma two" TO ana;
GRANT SELECT ON ALL TABLES IN SCHEMA public, "Sçhéma two" TO ana;
ANALYZE;
