// Command features reads prompts as JSON lines with a field "prompt" and writes their features for the training scripts. For
// each prompt it writes the number of hashes, the number of dense features, the dense features as float32, and the hashes
// as 32-bit numbers: the feature block in the upper 4 bits, then the upper 28 bits of the hash. All numbers are little-endian.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"fairlead.dev/internal/predict"
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
	reader := predict.NewReader()
	for n := 1; lines.Scan(); n++ {
		var row struct {
			Prompt string `json:"prompt"`
		}
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return fmt.Errorf("read line %d: %w", n, err)
		}
		if err := write(w, reader, row.Prompt); err != nil {
			return fmt.Errorf("write line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read prompts: %w", err)
	}
	return w.Flush()
}

func write(w io.Writer, reader *predict.Reader, prompt string) error {
	var row []uint32
	dense := reader.Read(prompt, func(block int, hash uint32) {
		row = append(row, uint32(block)<<28|hash>>4)
	})
	floats := make([]float32, 0, len(dense))
	for _, v := range dense {
		floats = append(floats, float32(v))
	}
	for _, v := range []any{uint32(len(row)), uint32(len(floats)), floats, row} {
		if err := binary.Write(w, binary.LittleEndian, v); err != nil {
			return err
		}
	}
	return nil
}
