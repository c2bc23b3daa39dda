package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestReportOfOutcomes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var rows bytes.Buffer
	for i := range 60 {
		fmt.Fprintf(&rows, `{"id": "p%d", "source": "routellm_gsm8k", "prompt": "What is %d times %d?", "scores": {"GPT4": 1, "mixtral-8x7b-instruct-v0.1": %d}}`+"\n", i, i, i+7, i%2)
	}
	for name, text := range map[string]string{"outcomes.jsonl": rows.String(), "names.csv": "name,model\ngpt4,gpt-4-1106-preview\n", "prices.csv": "model,input_usd_per_mtok,output_usd_per_mtok\nmixtral-8x7b-instruct-v0.1,0.6,0.6\ngpt-4-1106-preview,10,30\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-names", filepath.Join(dir, "names.csv"), "-prices", filepath.Join(dir, "prices.csv"), dir}, &out); err != nil {
		t.Fatal(err)
	}
	var report Report
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Auto) != 1 || report.Auto[0].Prompts != 60 || len(report.Auto[0].Models) != 2 || report.Auto[0].Best.Quality != 1 {
		t.Errorf("choices of auto = %+v, want one pool with 60 prompts of two models", report.Auto)
	}
	if len(report.Calibration) != 2 || report.Calibration[0].Prompts != 60 {
		t.Errorf("calibration = %+v, want two models with 60 prompts", report.Calibration)
	}
}
