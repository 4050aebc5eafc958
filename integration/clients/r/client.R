# RPostgreSQL in pages, and dbplyr's translation of dplyr.
suppressMessages({library(DBI); library(RPostgreSQL); library(dplyr); library(dbplyr)})
e <- Sys.getenv
con <- suppressWarnings(dbConnect(PostgreSQL(), host = e("PGHOST"), port = e("PGPORT"), user = e("PGUSER"), password = e("PGPASSWORD"), dbname = e("PGDATABASE")))
invisible(dbExecute(con, "SET client_min_messages = warning"))
say <- function(...) cat(paste(...), "\n", sep = "")
say("connect: ok")
for (table in c("hospitals", "labs", "patients", "visits")) {
  say("list:", table, dbExistsTable(con, table), paste(dbListFields(con, table), collapse = " "))
}
if (identical(commandArgs(TRUE), "list")) quit()

aggregate <- "SELECT diagnosis, count(*) AS n, avg(cost) AS mean FROM visits WHERE hospital_id > $1 GROUP BY diagnosis ORDER BY diagnosis"
answer <- dbGetQuery(con, aggregate, list(0))
for (i in seq_len(nrow(answer))) say("aggregate:", answer$diagnosis[i], class(answer$n), class(answer$mean))

charges <- function() dbGetQuery(con, "SELECT round(spent / 0.1)::int AS n FROM dp.budget WHERE kind = 'unit'")$n
before <- charges()
result <- dbSendQuery(con, "SELECT diagnosis, count(*) AS n FROM visits GROUP BY diagnosis ORDER BY diagnosis")
rows <- 0
while (!dbHasCompleted(result)) rows <- rows + nrow(fetch(result, 1))
invisible(dbClearResult(result))
say("page:", rows, "rows", charges() - before, "charge")

visits <- suppressWarnings(tbl(con, "visits"))
say("dplyr:", paste(sort((visits %>% count(diagnosis) %>% collect())$diagnosis), collapse = " "))
say("dplyr join:", nrow(visits %>% inner_join(tbl(con, "hospitals"), by = c("hospital_id" = "id")) %>% group_by(name) %>% summarise(n = n()) %>% collect()))
refused <- tryCatch(collect(visits), error = function(x) conditionMessage(x$parent))
say("error:", sub(".*ERROR:  ([^\n]*).*", "\\1", refused))
say("recover:", dbGetQuery(con, "SELECT 1 AS one")$one)
