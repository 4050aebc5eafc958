# Ends with an error where the drivers are not installed.
package require tdbc::postgres
package require Pgtcl
