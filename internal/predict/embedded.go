package predict

import _ "embed" // for the artefact

//go:embed data/predictor.bin
var embedded []byte

// Embedded returns the predictor in the binary. Parsing takes some milliseconds: call it once and share the result.
func Embedded() (*Predictor, error) { return Parse(embedded) }
