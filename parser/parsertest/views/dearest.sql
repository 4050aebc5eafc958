 SELECT dear_visits.id AS visit,
    dear_visits.patient_id AS who,
    dear_visits.price
   FROM public.dear_visits
  WHERE (dear_visits.price > (200)::numeric);