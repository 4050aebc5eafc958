// Package sqltext is SQL for the protected database as text. A statement runs as one line; [Lines]
// breaks it into lines for people.
package sqltext
