 SELECT cust.uid,
    cust.name,
    cust.region,
    cust.age,
    cust.salary,
    cust.score,
    cust.bio
   FROM public.cust;