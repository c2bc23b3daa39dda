// Command evaluate compares predictions and the choices of auto with recorded outcomes and prints a report as JSON. It makes
// decisions with the gateway's code.
//
//	go run ./train/evaluate [flags] DATA.jsonl…|DIR
//
// Each line of the data is {"id", "source", "prompt", "scores": {model: 0 to 1}, "costs": {model: dollars}}; costs may be missing.
// The figures are too good on data that the predictor was trained with: use a predictor trained without the data
// (train.py --hold-out).
package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"fairlead.dev/internal/catalog"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/predict"
	"fairlead.dev/internal/predict/ability"
	"fairlead.dev/internal/route"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	predictor := flags.String("predictor", "", "predictor file written by train.py (default: the one in the binary)")
	prices := flags.String("prices", "", "file with prices of models that the catalog does not list: model,input_usd_per_mtok,output_usd_per_mtok")
	names := flags.String("names", "", "file that maps names in the data to model names: name,model")
	tradeoff := flags.Float64("tradeoff", 0.5, "trade-off of auto from 0 (cheapest) to 1 (best)")
	behaviour := flags.String("behaviour", "", `file with relations between decisions: {"id", "relation", "requests": [{"id", "role", "messages", "tools"}]} per line`)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 && *behaviour == "" {
		return errors.New("no data given; name .jsonl files or a directory that contains them")
	}
	e, err := newEvaluation(*predictor, *prices, *names, *tradeoff)
	if err != nil {
		return err
	}
	if err := e.readOutcomes(ctx, flags.Args()); err != nil {
		return err
	}
	report := Evaluate(e.rows, e.predictions, e.plan)
	if report.Auto, err = e.auto(ctx); err != nil {
		return err
	}
	if *behaviour != "" {
		if report.Behaviour, err = e.behaviour(ctx, *behaviour); err != nil {
			return err
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(report)
}

// evaluation collects outcomes and predictions. Lines are decoded on all cores.
type evaluation struct {
	plan      Plan
	predictor *predict.Predictor
	fitter    *ability.Fitter
	catalog   *catalog.Catalog
	objective route.Objective
	prices    map[string]*catalog.Price // prices of models that the catalog does not list
	names     map[string]string         // model names by the lower-case name in the data files

	mu          sync.Mutex
	rows        []Row
	predictions Predictions
	prompts     map[string]asked // prompts of the pools, by row ID
}

func newEvaluation(artefact, prices, names string, tradeoff float64) (*evaluation, error) {
	e := &evaluation{plan: Standard(), predictions: Predictions{}, prompts: map[string]asked{}}
	var err error
	if e.objective, err = route.ParseObjective("auto", strconv.FormatFloat(tradeoff, 'g', -1, 64)); err != nil {
		return nil, err
	}
	if e.predictor, err = readPredictor(artefact); err != nil {
		return nil, fmt.Errorf("read the predictor: %w", err)
	}
	if e.catalog, err = catalog.Default(); err != nil {
		return nil, err
	}
	e.fitter = ability.New(e.predictor)
	if e.prices, err = readPrices(prices); err != nil {
		return nil, err
	}
	e.names, err = readNames(names)
	return e, err
}

// readPredictor reads an artefact written by train.py, or the embedded artefact if path is empty.
func readPredictor(path string) (*predict.Predictor, error) {
	if path == "" {
		return predict.Embedded()
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return predict.Parse(data)
}

// outcomeLine is one line of a data file: a prompt with the recorded outcomes.
type outcomeLine struct {
	Source       string             `json:"source"`
	Scores       map[string]float64 `json:"scores"`
	Costs        map[string]float64 `json:"costs"`
	Contaminated bool               `json:"contaminated"`
}

// readOutcomes reads the named files and the files in the named directories.
func (e *evaluation) readOutcomes(ctx context.Context, paths []string) error {
	for _, path := range paths {
		files := []string{path}
		if info, err := os.Stat(path); err != nil {
			return err
		} else if info.IsDir() {
			if files, err = filepath.Glob(filepath.Join(path, "*.jsonl")); err != nil || len(files) == 0 {
				return errors.Join(err, fmt.Errorf("%s contains no .jsonl files", path))
			}
		}
		for _, file := range files {
			before := len(e.rows)
			if err := eachLine(ctx, file, e.readOutcome); err != nil {
				return fmt.Errorf("read %s: %w", file, err)
			}
			slices.SortFunc(e.rows[before:], func(a, b Row) int { return strings.Compare(a.ID, b.ID) }) // goroutines finish in any order
		}
	}
	return nil
}

func (e *evaluation) readOutcome(line []byte) error {
	var in outcomeLine
	if err := json.Unmarshal(line, &in); err != nil {
		return err
	}
	if in.Source == "" || len(in.Scores) == 0 {
		return errors.New(`"source" or "scores" is missing`)
	}
	inPool := slices.ContainsFunc(e.plan.Pools, func(p Pool) bool { return slices.Contains(p.Sources, in.Source) })
	if !inPool && !slices.ContainsFunc(e.plan.Pairs, func(p Pair) bool { return p.Source == in.Source }) {
		return nil
	}
	id, prompt, err := parsePrompt(line)
	if err != nil {
		return err
	}
	row := Row{ID: string(id), Source: in.Source, Scores: e.canonical(in.Scores), Costs: e.canonical(in.Costs), Contaminated: in.Contaminated}
	features := e.predictor.Features(prompt.prompt)
	guessed := make(map[string]float64, len(row.Scores))
	for name := range row.Scores {
		if a, ok := e.fitter.Named(e.catalog, name); ok {
			guessed[name] = predict.Success(&features, &a).Probability
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rows = append(e.rows, row)
	e.predictions[row.ID] = guessed
	if inPool {
		e.prompts[row.ID] = prompt
	}
	return nil
}

func (e *evaluation) canonical(byName map[string]float64) map[string]float64 {
	renamed := make(map[string]float64, len(byName))
	for name, v := range byName {
		if model, ok := e.names[strings.ToLower(name)]; ok {
			name = model
		}
		renamed[ability.Canonical(name)] = v
	}
	return renamed
}

// eachLine calls read for every line of a file that is not blank, on all cores and in any order.
func eachLine(ctx context.Context, path string, read func(line []byte) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 64<<20)
	for number := 1; ctx.Err() == nil && lines.Scan(); number++ {
		line := slices.Clone(lines.Bytes())
		if strings.TrimSpace(string(line)) == "" {
			continue
		}
		g.Go(func() error {
			if err := read(line); err != nil {
				return fmt.Errorf("line %d: %w", number, err)
			}
			return nil
		})
	}
	return errors.Join(g.Wait(), lines.Err())
}

// readPrices reads a file with the prices of models that the catalog does not list.
func readPrices(path string) (map[string]*catalog.Price, error) {
	prices := map[string]*catalog.Price{}
	err := readTable(path, "model,input_usd_per_mtok,output_usd_per_mtok", func(row []string) error {
		var rates [2]float64
		for i, text := range row[1:] {
			var err error
			if rates[i], err = strconv.ParseFloat(text, 64); err != nil || !(rates[i] >= 0) {
				return fmt.Errorf("%q is not a price", text)
			}
		}
		prices[ability.Canonical(row[0])] = &catalog.Price{Input: money.PerMillion(rates[0]), Output: money.PerMillion(rates[1]), Source: "file"}
		return nil
	})
	return prices, err
}

// readNames reads a file that maps names in the data files, as lower-case keys, to model names.
func readNames(path string) (map[string]string, error) {
	names := map[string]string{}
	err := readTable(path, "name,model", func(row []string) error {
		names[strings.ToLower(row[0])] = row[1]
		return nil
	})
	return names, err
}

// readTable calls add for each row of a CSV file, which must have the given header. It does nothing if path is empty.
func readTable(path, header string, add func(row []string) error) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if len(rows) == 0 || strings.Join(rows[0], ",") != header {
		return fmt.Errorf("read %s: line 1 is not the header %s", path, header)
	}
	for _, row := range rows[1:] {
		if err := add(row); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
	}
	return nil
}
