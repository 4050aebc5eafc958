// Package listing writes the findings of commands: tables for people, JSON for programs, and bars that show how far work is.
package listing
