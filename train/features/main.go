// Command features prints the inputs of the scorer for the training scripts. It reads JSON lines with one of the fields request (a chat
// request), result (the text of a tool result) or reply (a short user turn), and writes a line with the inputs, and for a request with what
// the gateway reads.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/wire/openai"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	w := bufio.NewWriterSize(out, 1<<20)
	encode := json.NewEncoder(w)
	for n := 1; lines.Scan(); n++ {
		row, err := read(lines.Bytes())
		if err != nil {
			return fmt.Errorf("read line %d: %w", n, err)
		}
		if err := encode.Encode(row); err != nil {
			return fmt.Errorf("write line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read requests: %w", err)
	}
	return w.Flush()
}

type output struct {
	predict.Inputs
	Reading *predict.Reading `json:"reading,omitempty"`
	Failed  bool             `json:"failed,omitempty"`
}

func read(line []byte) (output, error) {
	var row struct {
		Request json.RawMessage `json:"request"`
		Result  *string         `json:"result"`
		Reply   *string         `json:"reply"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return output{}, err
	}
	switch {
	case row.Result != nil:
		return output{Inputs: predict.TextInputs("result ", *row.Result), Failed: predict.HasFailed(*row.Result)}, nil
	case row.Reply != nil:
		return output{Inputs: predict.TextInputs("reply ", *row.Reply)}, nil
	}
	req, err := openai.Format{}.DecodeRequest(context.Background(), llm.Chat, row.Request)
	if err != nil {
		return output{}, err
	}
	reading := predict.Read(req)
	return output{Inputs: predict.RequestInputs(req), Reading: &reading}, nil
}
