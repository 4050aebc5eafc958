-- A chain of hotels: guests and staff, two guests in a row, cards and addresses, a visitor without a table, a log.
-- person: guest.guest_id
-- protected: guest, booking, stay, bill, bill_line, feedback, wish, invite, loyalty
-- reference: address, card, branch
-- others: staff, shift
-- asked: transfer, log, supplier, voucher, museum_ticket
-- public: country, room_type, room, amenity, room_amenity, season
-- hidden: address.street, card.number, branch.manager_no, guest.first_name, guest.last_name, guest.email, guest.phone, guest.password_hash, guest.notes, guest.photo_url, guest.passport_no, feedback.comment, wish.body, bill.card_last_digits_token, stay.signature, invite.invited_by, guest.deleted_by_staff_no
-- open: address.city, address.country_code, bill.card_id, branch.name, guest.birth_date, guest.gender, guest.country_code, guest.language, stay.room_id, stay.checkin, bill.total, bill.currency, booking.channel, loyalty.level, bill_line.what
CREATE TABLE country (code char(2) PRIMARY KEY, name text NOT NULL, currency char(3));
CREATE TABLE room_type (room_type_id int PRIMARY KEY, name text, max_guests int, price numeric(8,2));
CREATE TABLE amenity (amenity_id int PRIMARY KEY, name text);
CREATE TABLE season (season_id int PRIMARY KEY, name text, begins date, ends date);
CREATE TABLE address (address_id int PRIMARY KEY, street text, city text, postal_code text, country_code char(2) REFERENCES country);
CREATE TABLE staff (staff_no int PRIMARY KEY, first_name text, last_name text, salary numeric, birth_date date);
CREATE TABLE branch (branch_id int PRIMARY KEY, name text, city text, manager_no int REFERENCES staff, opened date);
CREATE TABLE shift (shift_id int PRIMARY KEY, staff_no int NOT NULL REFERENCES staff, starts timestamp, ends timestamp);
CREATE TABLE room (room_id int PRIMARY KEY, room_type_id int REFERENCES room_type, floor int, beds int);
CREATE TABLE room_amenity (room_id int REFERENCES room, amenity_id int REFERENCES amenity, PRIMARY KEY (room_id, amenity_id));
CREATE TABLE guest (
  guest_id int PRIMARY KEY, first_name text NOT NULL, last_name text NOT NULL, email text UNIQUE, phone text, birth_date date, gender char(1),
  password_hash text, notes text, photo_url text, passport_no text, country_code char(2) REFERENCES country, language text,
  address_id int REFERENCES address, deleted_at timestamp, deleted_by_staff_no int REFERENCES staff);
CREATE TABLE card (card_id int PRIMARY KEY, number text, expires date, brand text);
CREATE TABLE booking (booking_id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guest, branch_id int REFERENCES branch, channel text, made date);
CREATE TABLE stay (stay_id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guest, booking_id int REFERENCES booking, room_id int REFERENCES room,
  checkin date, checkout date, signature text, CHECK (checkout >= checkin));
CREATE TABLE bill (bill_id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guest, stay_id int NOT NULL REFERENCES stay, card_id int REFERENCES card,
  total numeric(10,2), currency char(3), card_last_digits_token text);
CREATE TABLE bill_line (bill_id int REFERENCES bill, line_no int, what varchar(40), price numeric(8,2), PRIMARY KEY (bill_id, line_no));
CREATE TABLE loyalty (guest_id int PRIMARY KEY REFERENCES guest, level text, points int);
CREATE TABLE feedback (feedback_id int PRIMARY KEY, guest_id int, stars int CHECK (stars BETWEEN 1 AND 5), comment text);
CREATE TABLE wish (wish_id int PRIMARY KEY, stay_id int NOT NULL REFERENCES stay, body text, granted boolean);
CREATE TABLE invite (invite_id int PRIMARY KEY, guest_id int NOT NULL REFERENCES guest, invited_by int REFERENCES guest, sent date);
CREATE TABLE transfer (transfer_id int PRIMARY KEY, from_guest int NOT NULL REFERENCES guest, to_guest int NOT NULL REFERENCES guest, points int);
CREATE TABLE voucher (voucher_id int PRIMARY KEY, redeemed_stay_id int REFERENCES stay, amount numeric(8,2));
CREATE TABLE log (log_id bigint PRIMARY KEY, user_ref int, happened timestamp, what text);
CREATE TABLE supplier (supplier_id int PRIMARY KEY, name text, phone text);
CREATE TABLE museum_ticket (ticket_id int PRIMARY KEY, visitor_no int, visitor_name text, visitor_birth_date date, visitor_email text, day date, price numeric(6,2));
CREATE VIEW stays_by_room AS SELECT s.guest_id, s.room_id, s.checkin FROM stay s;
