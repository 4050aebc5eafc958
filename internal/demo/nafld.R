# Writes the three tables of the liver study as CSV files into the folder given.
# Exit status 3: the package that holds them is not installed.
if (!requireNamespace("survival", quietly = TRUE)) quit(status = 3)
folder <- commandArgs(trailingOnly = TRUE)[1]
for (name in c("nafld1", "nafld2", "nafld3")) {
  write.csv(getExportedValue("survival", name), file.path(folder, paste0(name, ".csv")), row.names = FALSE, na = "")
}
