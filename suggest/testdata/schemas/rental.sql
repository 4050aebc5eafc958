-- A rental shop: customers come before the staff whom everything refers to; payments are partitioned, and their keys are on the partitions alone.
-- person: customer.customer_id
-- protected: customer, rental, payment, reservation_note
-- reference: address, store
-- others: staff
-- asked: actor, film_actor, notification
-- public: film, category, film_category, language, city, country, inventory_kind
-- hidden: address.address, address.phone, store.manager_staff_id, customer.first_name, customer.last_name, customer.email, rental.staff_id, payment.staff_id, reservation_note.note
-- open: address.city_id, address.district, customer.address_id, customer.active, customer.store_id, rental.rented, payment.amount, payment.rental_id, rental.returned
CREATE TABLE country (country_id int PRIMARY KEY, country text);
CREATE TABLE city (city_id int PRIMARY KEY, city text, country_id int REFERENCES country);
CREATE TABLE language (language_id int PRIMARY KEY, name char(20));
CREATE TABLE address (address_id int PRIMARY KEY, address text, district text, city_id int REFERENCES city, phone text);
CREATE TABLE store (store_id int PRIMARY KEY, manager_staff_id int, address_id int REFERENCES address);
CREATE TABLE staff (staff_id int PRIMARY KEY, first_name text, last_name text, email text, username text, password text, store_id int REFERENCES store, address_id int REFERENCES address, picture bytea);
ALTER TABLE store ADD FOREIGN KEY (manager_staff_id) REFERENCES staff;
CREATE TABLE customer (customer_id int PRIMARY KEY, store_id int REFERENCES store, first_name text, last_name text, email text, address_id int REFERENCES address, active boolean);
CREATE TABLE film (film_id int PRIMARY KEY, title text, language_id int REFERENCES language, length int, rating text, description text);
CREATE TABLE category (category_id int PRIMARY KEY, name text);
CREATE TABLE film_category (film_id int REFERENCES film, category_id int REFERENCES category, PRIMARY KEY (film_id, category_id));
CREATE TABLE actor (actor_id int PRIMARY KEY, first_name text, last_name text, birth_date date, gender text);
CREATE TABLE film_actor (film_id int REFERENCES film, actor_id int REFERENCES actor, PRIMARY KEY (film_id, actor_id));
CREATE TABLE inventory_kind (kind_id int PRIMARY KEY, film_id int REFERENCES film, store_id int REFERENCES store);
CREATE TABLE rental (rental_id int PRIMARY KEY, customer_id int NOT NULL REFERENCES customer, kind_id int REFERENCES inventory_kind, staff_id int REFERENCES staff, rented timestamp, returned timestamp);
CREATE TABLE payment (payment_id int NOT NULL, customer_id int NOT NULL, staff_id int NOT NULL, rental_id int NOT NULL, amount numeric(5,2), paid date NOT NULL) PARTITION BY RANGE (paid);
CREATE TABLE payment_a PARTITION OF payment FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
CREATE TABLE payment_b PARTITION OF payment FOR VALUES FROM ('2021-01-01') TO ('2022-01-01');
ALTER TABLE payment_a ADD PRIMARY KEY (payment_id), ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff, ADD FOREIGN KEY (rental_id) REFERENCES rental;
ALTER TABLE payment_b ADD FOREIGN KEY (customer_id) REFERENCES customer, ADD FOREIGN KEY (staff_id) REFERENCES staff, ADD FOREIGN KEY (rental_id) REFERENCES rental;
CREATE TABLE reservation_note (note_id int PRIMARY KEY, rental_id int NOT NULL REFERENCES rental, note text);
CREATE TABLE notification (notification_id int PRIMARY KEY, recipient_id int, sent timestamp);
