// Package flight knows which releases are being drawn. Whoever asks for one of them waits until
// that read has ended, and is then shown the remembered answer: one question is paid once.
//
// A flight begins when its statement has a session on the protected database, and ends when its reply
// leaves, at a point of the grid, or would, if its client has gone. So whoever waits learns nothing but
// that point. Nobody waits in a flight: it is begun for all of its keys or for none, and so no two wait
// for each other.
package flight
