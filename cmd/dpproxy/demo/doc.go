// Package demo serves a throwaway database with made-up patients, or with the people of a published study. It can play a conversation of
// psql, and show the truth next to each answer.
package demo
