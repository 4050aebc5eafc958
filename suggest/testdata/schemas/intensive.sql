-- Intensive care: the table of patients has a row for each stay, so that whom its key protects is asked about.
-- person: asked, patient.icu_stay_id, patient.unique_pid
-- unit: patient.unique_pid
-- protected: patient, vital_aperiodic, medication, lab, apache_score
-- reference: hospital
-- asked: note_index
-- public: drug_catalogue
-- open: patient.age, patient.gender, patient.hospital_id, lab.value, medication.drug_code, patient.ethnicity
CREATE TABLE hospital (hospital_id int PRIMARY KEY, region text, beds int);
CREATE TABLE drug_catalogue (drug_code int PRIMARY KEY, label text);
CREATE TABLE patient (icu_stay_id int PRIMARY KEY, unique_pid varchar(10) NOT NULL, gender text, age text, ethnicity text, hospital_id int REFERENCES hospital, admitted_minutes int);
CREATE TABLE vital_aperiodic (vital_id int PRIMARY KEY, icu_stay_id int NOT NULL REFERENCES patient, minutes int, pulse int);
CREATE TABLE medication (medication_id int PRIMARY KEY, icu_stay_id int NOT NULL REFERENCES patient, drug_code int REFERENCES drug_catalogue, dose numeric(8,2));
CREATE TABLE lab (lab_id int PRIMARY KEY, icu_stay_id int NOT NULL REFERENCES patient, name text, value numeric(10,3));
CREATE TABLE apache_score (icu_stay_id int PRIMARY KEY REFERENCES patient, score int);
CREATE TABLE note_index (note_id int PRIMARY KEY, icu_stay_id int, author text);
