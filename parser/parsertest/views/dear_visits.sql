 SELECT v.id,
    v.patient_id,
    v.cost AS price,
    v.qty,
    v.diagnosis
   FROM public.visits v
  WHERE ((v.cost > (100)::numeric) AND (EXISTS ( SELECT
           FROM public.patients p
          WHERE ((p.id = v.patient_id) AND (NOT p.smoker)))));