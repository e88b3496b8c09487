// Prometheus' storage, PromQL and rules on a clock that does not wait.
//
//	fastclock SERIES.json RULES.yml START MINUTES
//
// SERIES.json has a list of series in promtool's notation, one value per minute from START on (seconds since the
// epoch). At each minute the values are stored and every rule group is evaluated, in the order of the file. Each alert
// that begins or stops to fire is one line of JSON on stdout. Then one line has the address of a server with
// /api/v1/query and /api/v1/query_range, which runs until stdin ends.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

type series struct {
	labels labels.Labels
	values []parser.SequenceValue
	ref    storage.SeriesRef
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fastclock:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 5 {
		return errors.New("give SERIES.json RULES.yml START MINUTES")
	}
	all, err := read(os.Args[1])
	if err != nil {
		return err
	}
	start, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err != nil {
		return err
	}
	minutes, err := strconv.Atoi(os.Args[4])
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "fastclock")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	options := tsdb.DefaultOptions()
	options.MinBlockDuration = (48 * time.Hour).Milliseconds() // all in the head: nothing is compacted meanwhile
	options.MaxBlockDuration = options.MinBlockDuration
	options.RetentionDuration = 10 * options.MinBlockDuration
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	db, err := tsdb.Open(folder, quiet, nil, options, nil)
	if err != nil {
		return err
	}
	defer db.Close()
	engine := promql.NewEngine(promql.EngineOpts{
		Logger: quiet, MaxSamples: 50_000_000, Timeout: 2 * time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true,
	})
	ctx := context.Background()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:   rules.EngineQueryFunc(engine, db),
		NotifyFunc:  func(context.Context, string, ...*rules.Alert) {},
		Appendable:  db,
		Queryable:   db,
		Context:     ctx,
		Logger:      quiet,
		ExternalURL: &url.URL{},
	})
	groups, err := ordered(manager, os.Args[2])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	firing := map[string]bool{}
	for minute := 0; minute <= minutes; minute++ {
		at := time.Unix(start+60*int64(minute), 0)
		if err := store(ctx, db, all, minute, at.UnixMilli()); err != nil {
			return err
		}
		for _, group := range groups {
			if at.Unix()%int64(group.Interval().Seconds()) != 0 {
				continue
			}
			group.Eval(ctx, at)
			if err := failure(group); err != nil {
				return fmt.Errorf("minute %d: %w", minute, err)
			}
		}
		if err := tell(out, groups, firing, minute); err != nil {
			return err
		}
	}
	return serve(ctx, engine, db, out)
}

func read(path string) ([]*series, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var given []struct{ Series, Values string }
	if err := json.Unmarshal(content, &given); err != nil {
		return nil, err
	}
	found := make([]*series, 0, len(given))
	for _, each := range given {
		names, values, err := parser.ParseSeriesDesc(each.Series + " " + each.Values)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", each.Series, err)
		}
		found = append(found, &series{labels: names, values: values})
	}
	return found, nil
}

// ordered returns the rule groups in the order of the file.
func ordered(manager *rules.Manager, path string) ([]*rules.Group, error) {
	loaded, errs := manager.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, path)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	text, errs := rulefmt.ParseFile(path, false)
	if len(errs) > 0 {
		return nil, errs[0]
	}
	place := map[string]int{}
	for number, group := range text.Groups {
		place[group.Name] = number
	}
	groups := make([]*rules.Group, 0, len(loaded))
	for _, group := range loaded {
		groups = append(groups, group)
	}
	sort.Slice(groups, func(a, b int) bool { return place[groups[a].Name()] < place[groups[b].Name()] })
	return groups, nil
}

func store(ctx context.Context, db *tsdb.DB, all []*series, minute int, at int64) error {
	appender := db.Appender(ctx)
	for _, each := range all {
		if minute >= len(each.values) || each.values[minute].Omitted {
			continue
		}
		ref, err := appender.Append(each.ref, each.labels, at, each.values[minute].Value)
		if err != nil {
			return fmt.Errorf("%s: %w", each.labels, err)
		}
		each.ref = ref
	}
	return appender.Commit()
}

func failure(group *rules.Group) error {
	for _, rule := range group.Rules() {
		if err := rule.LastError(); err != nil {
			return fmt.Errorf("%s: %w", rule.Name(), err)
		}
	}
	return nil
}

// tell prints each alert that begins or stops to fire.
func tell(out *json.Encoder, groups []*rules.Group, firing map[string]bool, minute int) error {
	now := map[string]bool{}
	for _, group := range groups {
		for _, rule := range group.AlertingRules() {
			for _, alert := range rule.ActiveAlerts() {
				if alert.State == rules.StateFiring {
					text, err := json.Marshal(alert.Labels)
					if err != nil {
						return err
					}
					now[string(text)] = true
				}
			}
		}
	}
	for _, change := range []struct {
		from, to map[string]bool
		fires    bool
	}{{firing, now, true}, {now, firing, false}} {
		var changed []string
		for alert := range change.to {
			if !change.from[alert] {
				changed = append(changed, alert)
			}
		}
		sort.Strings(changed)
		for _, alert := range changed {
			if err := out.Encode(map[string]any{"minute": minute, "fires": change.fires, "labels": json.RawMessage(alert)}); err != nil {
				return err
			}
		}
	}
	clear(firing)
	for alert := range now {
		firing[alert] = true
	}
	return nil
}

// serve answers queries until stdin ends.
func serve(ctx context.Context, engine *promql.Engine, db *tsdb.DB, out *json.Encoder) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	answer := func(make func(*http.Request) (promql.Query, error)) http.HandlerFunc {
		return func(writer http.ResponseWriter, request *http.Request) {
			writer.Header().Set("Content-Type", "application/json")
			query, err := make(request)
			var result *promql.Result
			if err == nil {
				defer query.Close()
				result = query.Exec(ctx)
				err = result.Err
			}
			if err != nil {
				writer.WriteHeader(http.StatusUnprocessableEntity)
				json.NewEncoder(writer).Encode(map[string]any{"status": "error", "errorType": "execution", "error": err.Error()})
				return
			}
			json.NewEncoder(writer).Encode(map[string]any{
				"status": "success",
				"data":   map[string]any{"resultType": result.Value.Type(), "result": finite(result.Value)},
			})
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/query", answer(func(request *http.Request) (promql.Query, error) {
		at, err := instant(request.FormValue("time"))
		if err != nil {
			return nil, err
		}
		return engine.NewInstantQuery(ctx, db, nil, request.FormValue("query"), at)
	}))
	mux.HandleFunc("/api/v1/query_range", answer(func(request *http.Request) (promql.Query, error) {
		start, err := instant(request.FormValue("start"))
		if err != nil {
			return nil, err
		}
		end, err := instant(request.FormValue("end"))
		if err != nil {
			return nil, err
		}
		step, err := strconv.ParseFloat(request.FormValue("step"), 64)
		if err != nil {
			return nil, err
		}
		return engine.NewRangeQuery(ctx, db, nil, request.FormValue("query"), start, end, time.Duration(step*float64(time.Second)))
	}))
	if err := out.Encode(map[string]string{"url": "http://" + listener.Addr().String()}); err != nil {
		return err
	}
	go http.Serve(listener, mux)
	_, err = bufio.NewReader(os.Stdin).ReadByte()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func instant(text string) (time.Time, error) {
	seconds, err := strconv.ParseFloat(text, 64)
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)), err
}

// finite leaves out stale values, which have no JSON.
func finite(found parser.Value) parser.Value {
	vector, is := found.(promql.Vector)
	if !is {
		return found
	}
	kept := vector[:0]
	for _, each := range vector {
		if !value.IsStaleNaN(each.F) {
			kept = append(kept, each)
		}
	}
	return kept
}
