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
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/route/predict"
	"fairlead.dev/internal/token"
	"fairlead.dev/internal/wire/chat"
)

// outcome is a task with the results of several models.
type outcome struct {
	id, source, group string
	fold              int
	family            predict.Family
	scores, costs     map[string]float64 // by model
	input             route.Input        // of the decision, without an objective
}

// foldCount is the number of parts into which the groups are divided.
const foldCount = 5

type outcomes struct {
	names map[string]string // model names by the lower-case name in the data
	rows  []*outcome
}

// line is a task in a data file, or a request in a behaviour file.
type line struct {
	ID           string             `json:"id"`
	Source       string             `json:"source"`
	Task         string             `json:"task"`
	Prompt       string             `json:"prompt"`
	Messages     json.RawMessage    `json:"messages"`
	Tools        json.RawMessage    `json:"tools"`
	Scores       map[string]float64 `json:"scores"`
	Costs        map[string]float64 `json:"costs"`
	Group        string             `json:"group"`
	Contaminated bool               `json:"contaminated"`
}

// families are the task families of the sources.
var families = map[string]predict.Family{
	"routellm_mmlu": predict.Knowledge, "mmlu_pro": predict.Knowledge, "zeroeval_mmlu_redux": predict.Knowledge, "routerbench_arc": predict.Knowledge,
	"routellm_gsm8k": predict.Maths, "zeroeval_gsm": predict.Maths, "zeroeval_math_l5": predict.Maths, "zeroeval_zebra_grid": predict.Maths,
	"routerbench_winogrande": predict.Short, "routerbench_mbpp": predict.Code,
	"bfcl": predict.Agents, "swebench_verified": predict.Agents, "mint": predict.Agents, "tau2": predict.Agents,
}

// read reads the named files and the files in the named directories. Sources that no pool uses are skipped.
func (o *outcomes) read(paths []string) error {
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.IsDir() {
			files, _ = filepath.Glob(filepath.Join(path, "*.jsonl"))
		}
		for _, file := range files {
			err := eachLine(file, func(text []byte) error {
				var in line
				if err := json.Unmarshal(text, &in); err != nil {
					return err
				}
				return o.add(&in)
			})
			if err != nil {
				return fmt.Errorf("read %s: %w", file, err)
			}
		}
	}
	return nil
}

func (o *outcomes) add(in *line) error {
	family, used := families[in.Source]
	if !used || in.Contaminated {
		return nil
	}
	hash := fnv.New32a()
	hash.Write([]byte(in.Group))
	r := &outcome{id: in.ID, source: in.Source, group: in.Group, fold: int(hash.Sum32() % foldCount), family: family, scores: map[string]float64{}, costs: map[string]float64{}}
	for m, v := range in.Scores {
		r.scores[o.canonical(m)] = v
	}
	for m, v := range in.Costs {
		r.costs[o.canonical(m)] = v
	}
	var err error
	r.input, err = in.decode()
	o.rows = append(o.rows, r)
	return err
}

// canonical returns the name of a model without its owner, in lower case.
func (o *outcomes) canonical(name string) string {
	name = strings.ToLower(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if known := o.names[name]; known != "" {
		return known
	}
	return name
}

var errNoMessages = errors.New(`"prompt" or "messages" is missing`)

// decode reads the task like the gateway: as the body of a chat request to auto.
func (l *line) decode() (in route.Input, err error) {
	body := map[string]any{"model": "auto"}
	switch {
	case len(l.Messages) > 0:
		body["messages"] = l.Messages
	case l.Prompt != "":
		body["messages"] = []map[string]string{{"role": "user", "content": l.Prompt}}
	default:
		return in, errNoMessages
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
	req, err := chat.Format{}.DecodeRequest(context.Background(), llm.Chat, data)
	if err != nil {
		return in, err
	}
	req.Measure()
	tokens := token.PromptOf(req).Estimate()
	reading := predict.Read(req)
	return route.Input{
		Op: llm.Chat, Model: "auto", At: time.Date(2026, 11, 19, 12, 0, 0, 0, time.UTC),
		Prediction:      route.Prediction{Features: reading.Features, Predictor: predict.Version()},
		PromptSize:      route.PromptSize{InputTokens: tokens, Text: req.Text, ImageSizes: req.ImageSizes},
		ResponseOptions: route.ResponseOptions{MaxOutput: req.MaxOutput, Choices: req.Choices, Needs: req.Needs, Effort: req.Effort},
		PromptParts:     route.PromptParts{Messages: req.Messages, Images: req.Images, ImageURLs: req.ImageURLs, AttachedBytes: req.AttachedBytes, Unsized: req.Unsized},
		History:         route.History{Turns: req.Answers, Conversation: reading.Findings},
	}, nil
}

// eachLine calls use for every line of a file that is not blank.
func eachLine(path string, use func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for number := 1; lines.Scan(); number++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := use(lines.Bytes()); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return lines.Err()
}

func (o *outcomes) readNames(path string) error {
	return readTable(path, "name,model", func(row []string) error {
		o.names[strings.ToLower(row[0])] = row[1]
		return nil
	})
}

// readPrices reads the prices of models that the catalog does not list.
func readPrices(path string) (map[string]*catalog.Price, error) {
	prices := map[string]*catalog.Price{}
	return prices, readTable(path, "model,input_usd_per_mtok,output_usd_per_mtok", func(row []string) error {
		input, err1 := strconv.ParseFloat(row[1], 64)
		output, err2 := strconv.ParseFloat(row[2], 64)
		prices[row[0]] = &catalog.Price{Input: money.PerMillion(input), Output: money.PerMillion(output)}
		return errors.Join(err1, err2)
	})
}

// readTable calls add for each row of a CSV file, which must have the given header.
func readTable(path, header string, add func(row []string) error) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
	if err != nil || len(rows) == 0 || !slices.Equal(rows[0], strings.Split(header, ",")) {
		return errors.Join(err, fmt.Errorf("read %s: line 1 is not the header %s", path, header))
	}
	for _, row := range rows[1:] {
		if err := add(row); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return nil
}
