-- Tenants, a key of two columns of people, soft delete, parties of which a person is one kind.
-- person: person.party_id
-- protected: person, person_login, subscription, ticket_note, support_ticket, invoice, invoice_line
-- reference: tenant, party
-- others: employee, company_contact
-- asked: party_address, party_tag, api_key, webhook_delivery, person_type, company
-- public: plan, feature, plan_feature, currency_rate
-- hidden: person.given_name, person.family_name, person_login.login_name, person_login.password_digest, ticket_note.body, support_ticket.agent_id, person.external_ref_hash
-- open: person.tenant_id, person.language, subscription.plan_id, invoice.amount, person.job_title, subscription.state
CREATE TABLE tenant (tenant_id int PRIMARY KEY, name text, created date);
CREATE TABLE plan (plan_id int PRIMARY KEY, name text, price numeric(8,2));
CREATE TABLE feature (feature_id int PRIMARY KEY, name text);
CREATE TABLE plan_feature (plan_id int REFERENCES plan, feature_id int REFERENCES feature, PRIMARY KEY (plan_id, feature_id));
CREATE TABLE currency_rate (currency char(3), day date, rate numeric(12,6), PRIMARY KEY (currency, day));
CREATE TABLE employee (employee_id int PRIMARY KEY, full_name text, salary numeric);
CREATE TABLE party (party_id int PRIMARY KEY, kind text, since date);
CREATE TABLE company (party_id int PRIMARY KEY REFERENCES party, trade_name text, vat_number text);
CREATE TABLE person_type (person_type_id int PRIMARY KEY, label text);
CREATE TABLE person (party_id int PRIMARY KEY REFERENCES party, tenant_id int NOT NULL REFERENCES tenant, given_name text, family_name text, birth_date date, language text,
  job_title text, person_type_id int REFERENCES person_type, external_ref_hash char(32), deleted_at timestamptz);
CREATE TABLE person_login (party_id int PRIMARY KEY REFERENCES person, login_name text UNIQUE, password_digest text);
CREATE TABLE party_address (address_id int PRIMARY KEY, party_id int NOT NULL REFERENCES party, street text, city text);
CREATE TABLE party_tag (party_id int REFERENCES party, tag text, PRIMARY KEY (party_id, tag));
CREATE TABLE company_contact (company_id int REFERENCES company, person_name text, role text);
CREATE TABLE subscription (subscription_id int PRIMARY KEY, person_id int NOT NULL REFERENCES person, tenant_id int REFERENCES tenant, plan_id int REFERENCES plan, state text);
CREATE TABLE support_ticket (ticket_id int PRIMARY KEY, person_id int NOT NULL REFERENCES person, agent_id int REFERENCES employee, opened date);
CREATE TABLE ticket_note (note_id int PRIMARY KEY, ticket_id int NOT NULL REFERENCES support_ticket, body text);
CREATE TABLE invoice (invoice_id int PRIMARY KEY, subscription_id int NOT NULL REFERENCES subscription, amount numeric(10,2));
CREATE TABLE invoice_line (invoice_id int REFERENCES invoice, line_no int, amount numeric(10,2), PRIMARY KEY (invoice_id, line_no));
CREATE TABLE api_key (api_key_id int PRIMARY KEY, tenant_id int REFERENCES tenant, prefix text, secret text);
CREATE TABLE webhook_delivery (delivery_id int PRIMARY KEY, payload jsonb, sent timestamptz);
