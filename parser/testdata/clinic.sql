-- Schema and rows of a clinic. Protected: patients, visits; public: hospitals.
create type sex_t as enum ('f','m','x');
create domain money_t as numeric(12,2);
create table hospitals(id int primary key, name text, region varchar(10));
create table patients(id int primary key, name text, sex sex_t, birth_year int, region varchar(10), smoker bool, "Größe" real);
create table visits(id int primary key, patient_id int references patients, hospital_id int references hospitals, day date, ts timestamptz, diagnosis text collate "C", cost numeric(10,2), qty int, big bigint, f8 float8);
insert into hospitals select g,'hosp '||g,(array['n','s','e','w'])[g%4+1] from generate_series(1,8) g;
select setseed(0.3);
insert into patients select g,'p'||g,(array['f','m','x'])[g%3+1]::sex_t,1930+g%80,(array['n','s','e','w'])[g%4+1],g%2=0,150+g%50 from generate_series(1,200) g;
insert into visits select g,g%200+1,g%8+1,'2020-01-01'::date+(g%400),'2020-01-01 12:00+00'::timestamptz+(g||' hours')::interval,(array['flu','Cold','asthma'])[g%3+1],(g*7%1000)/3.0,g%9,g*1000,g*0.5 from generate_series(1,1000) g;
create view dear_visits as select v.id, v.patient_id, v.cost as price, v.qty, v.diagnosis from visits v where v.cost > 100 and exists (select from patients p where p.id = v.patient_id and not p.smoker);
create view dearest(visit, who, price) as select id, patient_id, price from dear_visits where price > 200;
create view by_region as with r as (select * from patients) select region as "Region", count(*) as n, avg(birth_year) from r group by region having count(*) > 3;
create view towns as select distinct region from hospitals;
