-- A mailing list kept in a table without a key, and staff alone elsewhere: Dutch names.
-- person: leden.lidnummer
-- protected: leden, contributie, deelname
-- others: medewerkers
-- asked: rekening_afschrift
-- public: cursus, zaal, cursusdag
-- hidden: leden.voornaam, leden.achternaam, leden.telefoonnummer, leden.rekeningnummer, deelname.opmerking
-- open: leden.woonplaats, leden.geboortedatum, contributie.bedrag, deelname.cursus_id, leden.postcode
CREATE TABLE zaal (zaal_id int PRIMARY KEY, naam text);
CREATE TABLE cursus (cursus_id int PRIMARY KEY, naam text, zaal_id int REFERENCES zaal);
CREATE TABLE cursusdag (cursus_id int REFERENCES cursus, dag date, PRIMARY KEY (cursus_id, dag));
CREATE TABLE leden (lidnummer int NOT NULL, voornaam text, achternaam text, geboortedatum date, telefoonnummer text, rekeningnummer text, postcode text, woonplaats text);
CREATE TABLE contributie (contributie_id int PRIMARY KEY, lidnummer int NOT NULL, bedrag numeric(8,2), jaar int);
CREATE TABLE deelname (cursus_id int REFERENCES cursus, lidnummer int, opmerking text, PRIMARY KEY (cursus_id, lidnummer));
CREATE TABLE medewerkers (medewerker_id int PRIMARY KEY, voornaam text, salaris numeric);
CREATE TABLE rekening_afschrift (afschrift_id int PRIMARY KEY, iban text, bedrag numeric(10,2));
