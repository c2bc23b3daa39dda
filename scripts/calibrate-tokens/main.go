// Command calibrate-tokens computes the features of the token estimate with the gateway's own code, for calibrate.py. It
// reads JSON strings, one per line, and writes the features of each.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/token"
)

func main() {
	in := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	out := bufio.NewWriter(os.Stdout)
	for in.More() {
		var s string
		if err := in.Decode(&s); err != nil {
			fmt.Fprintln(os.Stderr, "read text:", err)
			os.Exit(1)
		}
		var t llm.Text
		t.Add(s)
		if err := json.NewEncoder(out).Encode(token.Features(t)); err != nil {
			os.Exit(1)
		}
	}
	if err := out.Flush(); err != nil {
		os.Exit(1)
	}
}
