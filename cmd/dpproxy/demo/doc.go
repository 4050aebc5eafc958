// Package demo serves a throwaway database with made-up patients, or those of a published study, and can play a conversation of psql
// with the truth beside the answers.
package demo
