-- Nobody: machines, parts, stock. There is nobody to be protected.
-- person: none
CREATE TABLE part (part_id int PRIMARY KEY, name text, weight numeric(8,2));
CREATE TABLE machine (machine_id int PRIMARY KEY, model text, built date);
CREATE TABLE machine_part (machine_id int REFERENCES machine, part_id int REFERENCES part, quantity int, PRIMARY KEY (machine_id, part_id));
CREATE TABLE stock (part_id int PRIMARY KEY REFERENCES part, shelf text, quantity int);
CREATE TABLE sensor_value (machine_id int REFERENCES machine, taken timestamp, temperature numeric(5,2), PRIMARY KEY (machine_id, taken));
