package predict

import _ "embed" // the artefact is part of the binary

//go:embed data/predictor.bin
var embedded []byte

// Embedded is the predictor that is part of the binary. Reading it takes some milliseconds: do it once and share it.
func Embedded() (*Predictor, error) { return Parse(embedded) }
