 WITH r AS (
         SELECT patients.id,
            patients.name,
            patients.sex,
            patients.birth_year,
            patients.region,
            patients.smoker,
            patients."Größe"
           FROM public.patients
        )
 SELECT r.region AS "Region",
    count(*) AS n,
    avg(r.birth_year) AS avg
   FROM r
  GROUP BY r.region
 HAVING (count(*) > 3);