-- Three candidates that come near each other, without an end of it: it is asked.
-- person: asked, account.id, member.id
-- unit: member.id
-- protected: member, membership, boat_booking
-- others: account, account_entry
-- public: boat
-- hidden: member.first_name, member.last_name, member.email
-- open: membership.since, boat_booking.boat_id
CREATE TABLE boat (id int PRIMARY KEY, name text, seats int);
CREATE TABLE member (id int PRIMARY KEY, first_name text, last_name text, email text);
CREATE TABLE account (id int PRIMARY KEY, login text, password text, email text);
CREATE TABLE account_entry (id int PRIMARY KEY, account_id int REFERENCES account, amount numeric(8,2));
CREATE TABLE membership (id int PRIMARY KEY, member_id int NOT NULL REFERENCES member, since date);
CREATE TABLE boat_booking (id int PRIMARY KEY, member_id int NOT NULL REFERENCES member, boat_id int REFERENCES boat, day date);
