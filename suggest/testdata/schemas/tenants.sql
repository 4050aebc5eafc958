-- Keys of several columns: customers are numbered within their tenant, so that one number may be several people's. Partitions without the key.
-- person: asked, customer.customer_no
-- unit: customer.customer_no
-- protected: customer, purchase, purchase_line, visit
-- reference: tenant
-- asked: gift
-- public: article, warehouse, stock
-- hidden: customer.full_name, customer.email, customer.linkedin, visit.remark
-- open: customer.tenant_id, purchase.total, purchase_line.quantity, visit.day
CREATE TABLE tenant (tenant_id int PRIMARY KEY, name text);
CREATE TABLE article (article_id int PRIMARY KEY, label text, price numeric(8,2));
CREATE TABLE warehouse (warehouse_id int PRIMARY KEY, region text);
CREATE TABLE stock (warehouse_id int REFERENCES warehouse, article_id int REFERENCES article, amount int, PRIMARY KEY (warehouse_id, article_id));
CREATE TABLE customer (tenant_id int REFERENCES tenant, customer_no int, full_name text, email text, linkedin text, PRIMARY KEY (tenant_id, customer_no));
CREATE TABLE purchase (tenant_id int, purchase_no int, customer_no int NOT NULL, total numeric(8,2), PRIMARY KEY (tenant_id, purchase_no),
  FOREIGN KEY (tenant_id, customer_no) REFERENCES customer);
CREATE TABLE purchase_line (tenant_id int, purchase_no int, line int, article_id int REFERENCES article, quantity int, PRIMARY KEY (tenant_id, purchase_no, line),
  FOREIGN KEY (tenant_id, purchase_no) REFERENCES purchase);
CREATE TABLE visit (tenant_id int NOT NULL, customer_no int NOT NULL, day date NOT NULL, remark text) PARTITION BY RANGE (day);
CREATE TABLE visit_old PARTITION OF visit FOR VALUES FROM ('2010-01-01') TO ('2020-01-01');
CREATE TABLE visit_new PARTITION OF visit FOR VALUES FROM ('2020-01-01') TO ('2030-01-01');
ALTER TABLE visit_old ADD FOREIGN KEY (tenant_id, customer_no) REFERENCES customer, ADD PRIMARY KEY (tenant_id, customer_no, day);
CREATE TABLE gift (gift_id int PRIMARY KEY, tenant_id int, purchase_no int, what text);
