package mockprovider

import (
	"io"
	"log"
)

// quiet keeps the complaints of net/http, which tests provoke on purpose, out of the output.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
