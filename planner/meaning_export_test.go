package planner

// AsWritten has the question of a part name what is read as it is written, as where its normal form would take too much work.
func (p *Part) AsWritten() [][]byte {
	own := *p
	asks := *p.asks
	asks.meanings = meaner{asks.meanings.(meaner).specializer, 1}
	own.asks, own.question = &asks, nil
	return own.Question()
}
