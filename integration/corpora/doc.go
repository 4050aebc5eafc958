// Package corpora plays statements as people and their tools write them: star queries, cohorts and distributions of the common data
// model of hospitals, and those of business tools and of tests of pipelines. Each is answered, or refused with another to ask instead.
//
// A file in testdata/fates has statements of one kind. Each stands under the name of its tool and before its fate: the groups that an
// answer has, or the refusal with its hint, and the fate of the statement that the hint ends with. go test -rewrite writes the fates anew.
//
// Fates follow from the statement, the policy and public rows, so that few people are enough. make corpora asks all of it of 3,000
// people, with all that hints suggest, and compares each value with that of the protected database.
package corpora
