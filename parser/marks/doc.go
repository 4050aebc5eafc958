// Package marks finds, in a query above released relations, which columns have noise and whether noise decides which rows there are.
//
// A column without noise is a label: its values tell rows apart, whatever the noise was. Marks follow from the parse tree alone. A column
// is marked if its values are computed of noisy ones; a relation, if noise decides which rows it has, by a condition, a join, or LIMIT
// after a noisy ORDER BY. An aggregate or window function over such rows has noise itself. In doubt a column is marked.
package marks
