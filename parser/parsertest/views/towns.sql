 SELECT DISTINCT hospitals.region
   FROM public.hospitals;