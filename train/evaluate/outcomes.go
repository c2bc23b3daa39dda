package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire/openai"
)

// outcome is a task with the results of several models.
type outcome struct {
	source, group string
	fold          int
	family        predict.Family
	scores, costs map[string]float64 // by model
	input         route.Input        // of the decision, without an objective
}

// families are the task families of the sources that the pools use.
var families = map[string]predict.Family{
	"routellm_mmlu": predict.Knowledge, "mmlu_pro": predict.Knowledge, "zeroeval_mmlu_redux": predict.Knowledge, "routerbench_arc": predict.Knowledge,
	"routellm_gsm8k": predict.Maths, "zeroeval_gsm": predict.Maths, "zeroeval_math_l5": predict.Maths, "zeroeval_zebra_grid": predict.Maths,
	"routerbench_winogrande": predict.Short, "routerbench_mbpp": predict.Code,
	"bfcl": predict.Agents, "swebench_verified": predict.Agents, "mint": predict.Agents, "tau2": predict.Agents,
}

// line is a task in a data file, or a request in a behaviour file.
type line struct {
	ID, Source, Prompt, Group string
	Messages, Tools           json.RawMessage
	Scores, Costs             map[string]float64
	Contaminated              bool
}

func (e *evaluation) addOutcome(text []byte) error {
	var in line
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	family, used := families[in.Source]
	if !used || in.Contaminated {
		return nil
	}
	hash := fnv.New32a()
	hash.Write([]byte(in.Group))
	o := &outcome{source: in.Source, group: in.Group, fold: int(hash.Sum32() % foldCount), family: family, scores: e.canonical(in.Scores), costs: e.canonical(in.Costs)}
	e.outcomes = append(e.outcomes, o)
	var err error
	o.input, err = in.read()
	return err
}

// canonical replaces the names in the data by lower-case names of models without their owners.
func (e *evaluation) canonical(byName map[string]float64) map[string]float64 {
	renamed := map[string]float64{}
	for name, v := range byName {
		name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
		if known := e.names[name]; known != "" {
			name = known
		}
		renamed[name] = v
	}
	return renamed
}

// read reads the task like the gateway: as the body of a chat request to auto.
func (l *line) read() (in route.Input, err error) {
	body := map[string]any{"model": "auto", "messages": []map[string]string{{"role": "user", "content": l.Prompt}}}
	if len(l.Messages) > 0 {
		body["messages"] = l.Messages
	}
	var text string
	switch {
	case json.Unmarshal(l.Tools, &text) == nil && text != "": // "name: description; name: description"
		var tools []any
		for tool := range strings.SplitSeq(text, "; ") {
			name, description, _ := strings.Cut(tool, ": ")
			tools = append(tools, map[string]any{"type": "function", "function": map[string]any{"name": name, "description": description}})
		}
		body["tools"] = tools
	case len(l.Tools) > 2:
		body["tools"] = l.Tools
	}
	data, err := json.Marshal(body)
	if err != nil {
		return in, err
	}
	req, err := openai.Format{}.DecodeRequest(context.Background(), llm.Chat, data)
	if err != nil {
		return in, err
	}
	reading := predict.Read(req)
	return route.Input{
		Op: llm.Chat, Model: "auto", At: time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC),
		Prediction:      route.Prediction{Features: reading.Features, Predictor: predict.Version()},
		PromptSize:      route.PromptSize{InputTokens: token.PromptOf(req).Estimate(), Text: req.Text, ImageSizes: req.ImageSizes},
		ResponseOptions: route.ResponseOptions{MaxOutput: req.MaxOutput, Choices: req.Choices, Needs: req.Needs, Effort: req.Effort},
		PromptParts:     route.PromptParts{Messages: req.Messages, Images: req.Images, ImageURLs: req.ImageURLs, AttachedBytes: req.AttachedBytes, Unsized: req.Unsized},
		History:         route.History{Turns: req.Answers, Conversation: reading.Findings},
	}, nil
}

// eachLine calls use for every line of a file.
func eachLine(path string, use func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for number := 1; lines.Scan(); number++ {
		if err := use(lines.Bytes()); err != nil {
			return fmt.Errorf("read line %d of %s: %w", number, path, err)
		}
	}
	return lines.Err()
}

// eachRecord calls use for every record of a CSV file after its header.
func eachRecord(path string, use func(record []string) error) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	records, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	for i := 1; i < len(records) && err == nil; i++ {
		err = use(records[i])
	}
	return err
}

func (e *evaluation) addName(record []string) error {
	e.names[strings.ToLower(record[0])] = record[1]
	return nil
}

func (e *evaluation) addPrice(record []string) error {
	input, err1 := strconv.ParseFloat(record[1], 64)
	output, err2 := strconv.ParseFloat(record[2], 64)
	e.prices[record[0]] = &catalog.Price{Input: money.PerMillion(input), Output: money.PerMillion(output)}
	return errors.Join(err1, err2)
}
