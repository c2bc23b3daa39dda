package predict

import _ "embed" // embeds the artefact

//go:embed data/predictor.bin
var embedded []byte

// Embedded returns the predictor embedded in the binary. Parsing takes a few milliseconds, so call it once and share the result.
func Embedded() (*Predictor, error) { return Parse(embedded) }
