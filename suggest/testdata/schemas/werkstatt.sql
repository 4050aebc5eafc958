-- Keine Fremdschlüssel, zusammengeschriebene Namen: eine Werkstatt mit Kunden und Fahrzeugen.
-- person: kunden.kundennr
-- protected: kunden, auftraege, rechnungen, mahnungen, fahrzeuge
-- asked: auftragspositionen, terminanfragen, belege
-- others: mitarbeiter, arbeitszeiten
-- public: ersatzteile, lager, steuersaetze
-- hidden: kunden.vorname, kunden.nachname, kunden.telefonnummer, kunden.emailadresse, fahrzeuge.kennzeichen, fahrzeuge.fahrgestellnummer, auftraege.mitarbeiternr, mahnungen.freitext, kunden.hausnummer
-- open: kunden.plz, kunden.ort, kunden.geburtsjahr, auftraege.auftragsart, rechnungen.betrag, fahrzeuge.marke
CREATE TABLE kunden (kundennr int PRIMARY KEY, vorname text, nachname text, straße text, hausnummer text, plz text, ort text, telefonnummer text, emailadresse text, geburtsjahr int);
CREATE TABLE fahrzeuge (fahrzeugnr int PRIMARY KEY, kundennr int, kennzeichen text, fahrgestellnummer text, marke text);
CREATE TABLE mitarbeiter (mitarbeiternr int PRIMARY KEY, vorname text, nachname text, lohn numeric);
CREATE TABLE arbeitszeiten (id int PRIMARY KEY, mitarbeiternr int, beginn timestamp, ende timestamp);
CREATE TABLE auftraege (auftragsnr int PRIMARY KEY, kundennr int NOT NULL, fahrzeugnr int, mitarbeiternr int, auftragsart text, tag date);
CREATE TABLE auftragspositionen (auftragsnr int, position int, teilenr int, menge int, PRIMARY KEY (auftragsnr, position));
CREATE TABLE rechnungen (rechnungsnr int PRIMARY KEY, kundennr int, auftragsnr int, betrag numeric(10,2));
CREATE TABLE mahnungen (mahnungsnr int PRIMARY KEY, kundennr int, rechnungsnr int, freitext text);
CREATE TABLE ersatzteile (teilenr int PRIMARY KEY, bezeichnung text, preis numeric(8,2));
CREATE TABLE lager (teilenr int PRIMARY KEY, menge int);
CREATE TABLE steuersaetze (satznr int PRIMARY KEY, prozent numeric(4,2));
CREATE TABLE terminanfragen (id int PRIMARY KEY, telefon text, wunschtag date);
CREATE TABLE belege (id int PRIMARY KEY, rechnungsnr int, datei text);
