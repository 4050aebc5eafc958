-- Made-up rows for suggest/testdata/schemas/clinic.sql: 4,000 patients, about 10,000 encounters, and what was found and done at them.
INSERT INTO doctor SELECT g, 'family ' || g, 'given ' || g, (ARRAY['surgery', 'medicine', 'paediatrics'])[g % 3 + 1], 'licence ' || g
  FROM generate_series(1, 40) g;
INSERT INTO ward SELECT g, 'ward ' || g, g, 20 + g FROM generate_series(1, 6) g;
INSERT INTO drug SELECT g, 'drug ' || g, 'A' || g FROM generate_series(1, 30) g;
INSERT INTO diagnosis_code SELECT 'D' || g, 'finding ' || g, (ARRAY['heart', 'lung', 'skin', 'bone'])[g % 4 + 1] FROM generate_series(1, 20) g;
INSERT INTO lab_test SELECT g, (ARRAY['sodium', 'potassium', 'glucose', 'iron'])[g], 'mmol/l', 1, 200 FROM generate_series(1, 4) g;
INSERT INTO insurer SELECT g, 'insurer ' || g, 'CH' FROM generate_series(1, 5) g;
INSERT INTO patient SELECT g, 'mrn ' || g, 'family ' || g, 'given ' || g, date '1930-01-01' + g * 8 % 30000, (ARRAY['f', 'm', 'f'])[g % 3 + 1],
    'street ' || g, (ARRAY['Arles', 'Bern', 'Chur'])[g % 3 + 1], 'single', 'phone ' || g
  FROM generate_series(1, 4000) g;
INSERT INTO encounter SELECT g * 4 + n, g, g % 40 + 1, (g + n) % 6 + 1, (ARRAY['inpatient', 'outpatient', 'emergency'])[(g + n) % 3 + 1]::encounter_kind,
    timestamp '2021-01-01' + (g % 700 + n * 90) * interval '1 day', timestamp '2021-01-03' + (g % 700 + n * 90) * interval '1 day', 'fever'
  FROM generate_series(1, 4000) g, generate_series(0, 3) n WHERE n < 1 + g % 4;
INSERT INTO finding SELECT row_number() OVER (), patient_id, encounter_id, 'D' || encounter_id % 20 + 1 FROM encounter WHERE encounter_id % 5 > 0;
INSERT INTO prescription SELECT row_number() OVER (), patient_id, encounter_id, encounter_id % 30 + 1, doctor_id, 1.5, 7
  FROM encounter WHERE encounter_id % 3 = 0;
INSERT INTO vital SELECT patient_id, encounter_id, began + interval '1 hour', 60 + encounter_id % 40 FROM encounter;
INSERT INTO lab_order SELECT row_number() OVER (), patient_id, encounter_id, doctor_id, began::date FROM encounter WHERE encounter_id % 2 = 0;
INSERT INTO lab_result SELECT order_id * 4 + n, order_id, n, 20 * n + order_id % 10 FROM lab_order, generate_series(1, 4) n;
INSERT INTO allergy SELECT row_number() OVER (), patient_id, 'nuts', encounter_id FROM encounter WHERE encounter_id % 11 = 0;
INSERT INTO insurance_cover SELECT patient_id, patient_id, patient_id % 5 + 1, 'policy ' || patient_id FROM patient;
INSERT INTO referral SELECT row_number() OVER (), encounter_id, 'the other clinic' FROM encounter WHERE encounter_id % 13 = 0;
ANALYZE;
