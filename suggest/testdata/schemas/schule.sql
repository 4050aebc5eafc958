-- Eine Schule: Klassen mit Klassenlehrer, Familien, Eltern, Noten; Umlaute, und Namen ohne sie.
-- person: schueler.schueler_nr
-- protected: schueler, note, fehlzeit, ausleihe, erziehungsberechtigte, krankmeldung
-- reference: klasse, familie
-- others: lehrer, vertretung
-- asked: protokoll, raumbuchung
-- public: fach, raum, schuljahr, lehrbuch
-- hidden: schueler.vorname, schueler.nachname, schueler.straße, schueler.telefon, fehlzeit.bemerkung, note.lehrer_nr, erziehungsberechtigte.vorname, erziehungsberechtigte.e_mail, krankmeldung.diagnose, schueler.foto
-- open: schueler.geburtsdatum, schueler.geschlecht, schueler.ort, schueler.klasse_id, note.wert, note.fach_id, fehlzeit.entschuldigt, schueler.staatsangehörigkeit
CREATE TABLE schuljahr (schuljahr_id int PRIMARY KEY, bezeichnung text, beginn date, ende date);
CREATE TABLE fach (fach_id int PRIMARY KEY, bezeichnung text, kuerzel varchar(5));
CREATE TABLE raum (raum_id int PRIMARY KEY, bezeichnung text, plaetze int);
CREATE TABLE lehrbuch (buch_id int PRIMARY KEY, titel text, fach_id int REFERENCES fach, isbn text);
CREATE TABLE lehrer (lehrer_nr int PRIMARY KEY, vorname text, nachname text, geburtsdatum date, gehalt numeric);
CREATE TABLE vertretung (vertretung_id int PRIMARY KEY, lehrer_nr int REFERENCES lehrer, tag date, stunde int);
CREATE TABLE klasse (klasse_id int PRIMARY KEY, name varchar(10), klassenlehrer_nr int REFERENCES lehrer, schuljahr_id int REFERENCES schuljahr, sprecher_nr int);
CREATE TABLE familie (familie_id int PRIMARY KEY, familienname text, kinderzahl int);
CREATE TABLE schueler (schueler_nr int PRIMARY KEY, vorname text, nachname text, geburtsdatum date, geschlecht char(1), straße text, ort text, telefon text, foto text,
  staatsangehörigkeit text, klasse_id int REFERENCES klasse, familie_id int REFERENCES familie);
ALTER TABLE klasse ADD FOREIGN KEY (sprecher_nr) REFERENCES schueler;
CREATE TABLE erziehungsberechtigte (person_nr int PRIMARY KEY, schueler_nr int NOT NULL REFERENCES schueler, vorname text, nachname text, e_mail text);
CREATE TABLE note (note_id int PRIMARY KEY, schueler_nr int NOT NULL REFERENCES schueler, fach_id int REFERENCES fach, lehrer_nr int REFERENCES lehrer, wert int CHECK (wert BETWEEN 1 AND 6), tag date);
CREATE TABLE fehlzeit (fehlzeit_id int PRIMARY KEY, schueler_nr int NOT NULL REFERENCES schueler, von date, bis date, entschuldigt boolean, bemerkung text);
CREATE TABLE krankmeldung (krankmeldung_id int PRIMARY KEY, fehlzeit_id int NOT NULL REFERENCES fehlzeit, diagnose text);
CREATE TABLE ausleihe (buch_id int REFERENCES lehrbuch, schueler_nr int REFERENCES schueler, seit date, PRIMARY KEY (buch_id, schueler_nr));
CREATE TABLE protokoll (id bigint PRIMARY KEY, vorgang text, zeit timestamp);
CREATE TABLE raumbuchung (buchung_id int PRIMARY KEY, raum_id int REFERENCES raum, ersteller_id int, tag date);
