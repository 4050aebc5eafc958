// Package flight knows which releases are being drawn. A statement that asks for one of them waits until the read has ended, and then gets
// the remembered answer: one question is paid once.
//
// A flight begins when its statement has a session on the protected database. It ends when its reply leaves, at a point of the grid; if its
// client has gone, it ends when the reply would have left. So a waiting statement learns nothing but that point. No statement waits while
// it has a flight: a flight begins with all of its keys or not at all. So no two statements wait for each other.
package flight
