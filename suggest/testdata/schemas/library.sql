-- Quoted and Unicode names, keys of several columns, a table of people without a key, uuids.
-- person: Borrower.Borrower Id
-- protected: Borrower, Loan, Loan Extension, Fine, Wunsch Liste
-- reference: Household
-- others: Librarian
-- asked: Ναρκωτικά, Reading Log
-- public: Book, Copy, Shelf Mark, Genre
-- hidden: Borrower.First Name, Borrower.Last Name, Borrower.E-Mail, Fine.Reason, Wunsch Liste.Bemerkung
-- open: Borrower.Date of Birth, Loan.Due, Fine.Amount, Borrower.City
CREATE TABLE "Genre" ("Genre Id" smallint PRIMARY KEY, "Name" text);
CREATE TABLE "Book" ("ISBN" text PRIMARY KEY, "Title" text, "Genre Id" smallint REFERENCES "Genre");
CREATE TABLE "Copy" ("ISBN" text REFERENCES "Book", "Copy No" int, PRIMARY KEY ("ISBN", "Copy No"));
CREATE TABLE "Shelf Mark" ("ISBN" text, "Copy No" int, mark text, PRIMARY KEY ("ISBN", "Copy No"), FOREIGN KEY ("ISBN", "Copy No") REFERENCES "Copy");
CREATE TABLE "Household" ("Household Id" int PRIMARY KEY, "Size" int);
CREATE TABLE "Librarian" ("Librarian Id" int PRIMARY KEY, "First Name" text, "Phone" text);
CREATE TABLE "Borrower" ("Borrower Id" uuid PRIMARY KEY, "First Name" text, "Last Name" text, "E-Mail" text, "Date of Birth" date, "City" text, "Household Id" int REFERENCES "Household", "Größe" int);
CREATE TABLE "Loan" ("Borrower Id" uuid REFERENCES "Borrower", "ISBN" text, "Copy No" int, "Lent" date, "Due" date, PRIMARY KEY ("Borrower Id", "ISBN", "Copy No", "Lent"),
  FOREIGN KEY ("ISBN", "Copy No") REFERENCES "Copy");
CREATE TABLE "Loan Extension" ("Borrower Id" uuid, "ISBN" text, "Copy No" int, "Lent" date, "N" int, PRIMARY KEY ("Borrower Id", "ISBN", "Copy No", "Lent", "N"),
  FOREIGN KEY ("Borrower Id", "ISBN", "Copy No", "Lent") REFERENCES "Loan");
CREATE TABLE "Fine" ("Fine Id" int PRIMARY KEY, "Borrower Id" uuid NOT NULL REFERENCES "Borrower", "Amount" numeric(6,2), "Reason" text);
CREATE TABLE "Wunsch Liste" ("Wunsch Id" int PRIMARY KEY, "Borrower Id" uuid REFERENCES "Borrower", "Bemerkung" text);
CREATE TABLE "Ναρκωτικά" ("α" int PRIMARY KEY, "E-Mail" text);
CREATE TABLE "Reading Log" (id int PRIMARY KEY, "Borrower" text, day date);
