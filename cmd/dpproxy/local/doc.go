// Package local has the tables of the local model: it opens their surveys, shows their answers on a mirror that was made anew, and
// refuses answers of objects that are not those of the table by now.
package local
