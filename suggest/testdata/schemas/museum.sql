-- A museum that writes visitors on tickets and members in a table: whom to protect is asked.
-- person: asked, ticket.visitor_no, member.member_id
-- unit: member.member_id
-- protected: member, donation, card_scan
-- asked: ticket, audio_guide_use, locker
-- public: exhibition, hall, artwork, artist, exhibition_artwork, opening_hour
-- others: curator
-- hidden: member.full_name, member.email, member.card_number, donation.message, card_scan.scanner_ip
-- open: member.joined, member.kind, donation.amount, card_scan.hall_id
CREATE TABLE hall (hall_id int PRIMARY KEY, name text, floor int);
CREATE TABLE exhibition (exhibition_id int PRIMARY KEY, name text, hall_id int REFERENCES hall, opens date, closes date);
CREATE TABLE artist (artist_id int PRIMARY KEY, name text, country text);
CREATE TABLE artwork (artwork_id int PRIMARY KEY, artist_id int REFERENCES artist, title text, year int);
CREATE TABLE exhibition_artwork (exhibition_id int REFERENCES exhibition, artwork_id int REFERENCES artwork, PRIMARY KEY (exhibition_id, artwork_id));
CREATE TABLE opening_hour (weekday int PRIMARY KEY, opens time, closes time);
CREATE TABLE curator (curator_id int PRIMARY KEY, first_name text, last_name text, phone text);
CREATE TABLE member (member_id int PRIMARY KEY, full_name text, email text, card_number text, joined date, kind text);
CREATE TABLE donation (donation_id int PRIMARY KEY, member_id int NOT NULL REFERENCES member, amount numeric(10,2), message text);
CREATE TABLE card_scan (scan_id int PRIMARY KEY, member_id int NOT NULL REFERENCES member, hall_id int REFERENCES hall, scanner_ip text, at timestamp);
CREATE TABLE ticket (ticket_id int PRIMARY KEY, visitor_no int, visitor_name text, visitor_email text, exhibition_id int REFERENCES exhibition, price numeric(6,2));
CREATE TABLE audio_guide_use (use_id int PRIMARY KEY, visitor_no int, artwork_id int REFERENCES artwork, seconds int);
CREATE TABLE locker (locker_id int PRIMARY KEY, visitor_no int, hall_id int REFERENCES hall);
