-- A clinic with diamonds: each row of a finding has the patient and an encounter of the same patient; doctors, wards that their heads lead.
-- person: patient.patient_id
-- protected: patient, encounter, finding, prescription, vital, lab_order, lab_result, allergy, insurance_cover
-- reference: ward
-- others: doctor, doctor_rota
-- asked: referral, import_batch
-- public: drug, diagnosis_code, lab_test, insurer
-- hidden: patient.family_name, patient.given_name, patient.mrn, patient.next_of_kin_phone, patient.street, encounter.doctor_id, encounter.summary, finding.note, insurance_cover.policy_number, prescription.prescribed_by, lab_order.ordered_by
-- open: patient.sex, patient.birth_date, patient.city, patient.marital_status, encounter.ward_id, encounter.kind, finding.code, finding.encounter_id, vital.pulse, lab_result.value, allergy.substance, encounter.reason
CREATE TYPE encounter_kind AS ENUM ('inpatient', 'outpatient', 'emergency');
CREATE TABLE doctor (doctor_id int PRIMARY KEY, family_name text, given_name text, specialty text, licence_number text);
CREATE TABLE ward (ward_id int PRIMARY KEY, name text, head_doctor_id int REFERENCES doctor, beds int);
CREATE TABLE doctor_rota (rota_id int PRIMARY KEY, doctor_id int REFERENCES doctor, ward_id int REFERENCES ward, day date);
CREATE TABLE drug (drug_id int PRIMARY KEY, name text, atc_code text);
CREATE TABLE diagnosis_code (code text PRIMARY KEY, label text, chapter text);
CREATE TABLE lab_test (test_id int PRIMARY KEY, name text, unit text, low numeric, high numeric);
CREATE TABLE insurer (insurer_id int PRIMARY KEY, name text, country text);
CREATE TABLE patient (patient_id int PRIMARY KEY, mrn text UNIQUE, family_name text, given_name text, birth_date date, sex char(1), street text, city text,
  marital_status text, next_of_kin_phone text, is_deleted boolean DEFAULT false);
CREATE TABLE encounter (encounter_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, doctor_id int REFERENCES doctor, ward_id int REFERENCES ward,
  kind encounter_kind, began timestamp, ended timestamp, reason varchar(60), summary text);
CREATE TABLE finding (finding_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, encounter_id int REFERENCES encounter, code text REFERENCES diagnosis_code, note text);
CREATE TABLE prescription (prescription_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, encounter_id int REFERENCES encounter, drug_id int REFERENCES drug,
  prescribed_by int REFERENCES doctor, dose numeric(8,2), days int);
CREATE TABLE vital (patient_id int REFERENCES patient, encounter_id int REFERENCES encounter, taken timestamp, pulse int, PRIMARY KEY (patient_id, taken));
CREATE TABLE lab_order (order_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, encounter_id int NOT NULL REFERENCES encounter, ordered_by int REFERENCES doctor, day date);
CREATE TABLE lab_result (result_id int PRIMARY KEY, order_id int NOT NULL REFERENCES lab_order, test_id int REFERENCES lab_test, value numeric(10,3));
CREATE TABLE allergy (allergy_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, substance text, found_in int REFERENCES encounter);
CREATE TABLE insurance_cover (cover_id int PRIMARY KEY, patient_id int NOT NULL REFERENCES patient, insurer_id int REFERENCES insurer, policy_number text);
CREATE TABLE referral (referral_id int PRIMARY KEY, encounter_id int, to_clinic text);
CREATE TABLE import_batch (batch_id int PRIMARY KEY, payload jsonb, came timestamp);
