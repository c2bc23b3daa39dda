package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/budget"
	"fairlead.dev/internal/ledger"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/money"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/rawjson"
	"fairlead.dev/internal/requestlog"
	"fairlead.dev/internal/response"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

const (
	// maxObject is the maximum size in bytes of the JSON object that describes a file or a batch.
	maxObject = 1 << 20
	// defaultObjects and maxObjects are the default and the maximum number of objects in a list.
	defaultObjects, maxObjects = 20, 100
	// maxRefreshes is the maximum number of concurrent reads from providers for one list.
	maxRefreshes = 4
	// objectProvider is the header that names the provider of a file.
	objectProvider = "X-Fairlead-Provider"
)

// splitObjectPath splits /files/file-1/content into /files, file-1 and content.
func splitObjectPath(path string) (collection, id, part string) {
	collection, rest, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	id, part, _ = strings.Cut(rest, "/")
	return "/" + collection, id, part
}

// objectMethods returns the HTTP methods allowed for a path under /files or /batches; nil for an unknown path.
func objectMethods(path string) []string {
	collection, id, part := splitObjectPath(path)
	files := collection == "/files"
	switch {
	case id == "":
		return []string{http.MethodGet, http.MethodPost}
	case part == "" && files:
		return []string{http.MethodGet, http.MethodDelete}
	case part == "", part == "content" && files:
		return []string{http.MethodGet}
	case part == "cancel" && !files:
		return []string{http.MethodPost}
	}
	return nil
}

// objectState is the state of a gateway's files and batches.
type objectState struct {
	owners ownerCache

	holding   sync.Mutex
	following bool // whether FollowBatches is running
	holds     map[batchID]*ledger.Hold
}

// objectRequest is a request for the files or batches of a workspace.
type objectRequest struct {
	*run
	out  *response.Writer
	http *http.Request
	w    http.ResponseWriter

	kind batch.Kind
}

// Serve performs the operation of a path and writes the response. A key can access only objects of its workspace, although workspaces
// share provider accounts.
func (o *objectRequest) Serve(ctx context.Context, path string) error {
	if o.kind = batch.File; o.call.Route.Op == llm.BatchObjects {
		o.kind = batch.Batch
	}
	o.entry.BodyState = requestlog.BodyMedia
	_, id, part := splitObjectPath(path)
	var data []byte
	var err error
	switch create := o.http.Method == http.MethodPost; {
	case id != "":
		data, err = o.one(ctx, id, part)
	case !create:
		data, err = o.list(ctx)
	case o.kind == batch.File:
		data, err = o.upload(ctx)
	default:
		data, err = o.create(ctx)
	}
	if err != nil {
		return err
	}
	e := o.entry
	o.out.Header().Set("X-Fairlead-Provider", e.Provider)
	e.Outcome, e.Status, e.Cost = requestlog.OK, http.StatusOK, new(money.Amount)
	if data != nil { // data is nil if the content of a file was sent
		_ = o.out.Event(&llm.Event{Data: data, Own: true}) // Event buffers the data until End
	}
	if err := o.writeEntry(); err != nil {
		return err
	}
	_ = o.out.End() // fails only when the client has disconnected
	return nil
}

// upload sends a file for a batch to the provider.
func (o *objectRequest) upload(ctx context.Context) ([]byte, error) {
	body, err := o.uploads.Read(o.w, o.http, o.call.Route.Op, o.call.Grant.Workspace.ID, o.settings.Upload)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	o.entry.BytesIn = int64(len(body.Bytes))
	form, err := batch.ReadForm(o.http.Header.Get("Content-Type"), body.Bytes)
	if err != nil {
		return nil, err
	}
	named, err := form.Models(ctx)
	if err != nil {
		return nil, err
	}
	p, targets, err := o.choose(named)
	if err != nil {
		return nil, err
	}
	made := o.newObject(p)
	if err := form.Rename(ctx, func(model string) string { return targets[model].Upstream }, o.references(ctx, made)); err != nil {
		return nil, err
	}
	for _, use := range named {
		use.Model = targets[use.Model].Model.Name
		made.Uses = append(made.Uses, use)
	}
	o.entry.Requested = made.Uses[0].Model
	op := &provider.ObjectOperation{Credential: made.Credential, Method: http.MethodPost, Path: []string{"files"}}
	if op.Body, op.ContentType, err = form.Encode(); err != nil {
		return nil, err
	}
	return o.make(ctx, p, made, op)
}

// references returns a function that looks up an object to which a request in the file refers. The function returns the provider's id for
// the object. The object must belong to the workspace, because workspaces share provider accounts, and to the account of the file.
func (o *objectRequest) references(ctx context.Context, file batch.Object) func(member, id string) (string, error) {
	known := map[string]bool{} // ids of files that were already looked up and found
	return func(member, id string) (string, error) {
		if member == batch.PreviousResponse {
			stored, ok := o.StoredIDs.Open(file.WorkspaceID, id)
			if !ok || stored.Provider != file.Provider || stored.Credential != file.Credential {
				return "", llm.Errorf(llm.NotFound, "Response %q was not found at %s. Send the whole conversation in input.", show.Shorten(id), file.Provider)
			}
			return stored.ID, nil
		}
		if !known[id] {
			found, err := o.Objects.Object(ctx, file.WorkspaceID, batch.File, id)
			if errors.Is(err, batch.ErrNotFound) || err == nil && (found.Provider != file.Provider || found.Credential != file.Credential) {
				return "", objectNotFound(batch.File, id)
			}
			if err != nil {
				return "", databaseError(err)
			}
			known[id] = true
		}
		return id, nil
	}
}

// newObject returns an object that the caller is about to create. It has the provider's first credential; for a batch, the caller replaces
// this with the credential of the input file.
func (o *objectRequest) newObject(p *provider.Provider) batch.Object {
	o.entry.Provider = p.Name
	made := batch.Object{WorkspaceID: o.call.Grant.Workspace.ID, Kind: o.kind, KeyID: o.call.Grant.Key.ID, Provider: p.Name, CreatedAt: o.call.Start}
	if len(p.Credentials) > 0 {
		made.Credential = p.Credentials[0].ID
	}
	return made
}

// choose returns the provider to which a batch input file is uploaded, and the provider's target for each model name in the file. A header
// or a prefix of the model names selects the provider. Otherwise, exactly one provider must offer all models.
func (o *objectRequest) choose(uses []batch.Use) (*provider.Provider, map[string]*provider.Target, error) {
	snap, name := o.snapshot, o.http.Header.Get(objectProvider)
	var offering, able []*provider.Provider
	for _, p := range snap.Providers {
		if p.Objects == nil || name != "" && p.Name != name {
			continue
		}
		offering = append(offering, p)
		if targets, _ := targetsAt(snap, p, uses); targets != nil {
			able = append(able, p)
		}
	}
	switch {
	case len(offering) == 0 && name != "":
		if _, known := snap.Provider(name); !known {
			return nil, nil, strict.Reject(strict.Problem{Param: objectProvider, Message: fmt.Sprintf("Provider %q does not exist. Name a connected provider.", show.Shorten(name))})
		}
		return nil, nil, llm.Errorf(llm.NoRoute, "Provider %q does not offer files and batches.", name).With("provider", name)
	case len(offering) == 0:
		return nil, nil, llm.Errorf(llm.NoRoute, "No connected provider offers files and batches.")
	case len(able) == 0:
		_, err := targetsAt(snap, offering[0], uses)
		return nil, nil, err
	case len(able) > 1:
		var names []string
		for _, p := range able {
			names = append(names, p.Name)
		}
		return nil, nil, strict.Reject(strict.Problem{Param: objectProvider, Message: fmt.Sprintf("Several providers can serve the batch: %s. Name one in the header %s.", strings.Join(names, ", "), strings.ToLower(objectProvider))})
	}
	targets, err := targetsAt(snap, able[0], uses)
	return able[0], targets, err
}

// targetsAt returns a provider's targets for the model names in a batch input file. A model name may include the provider as a prefix.
func targetsAt(snap *route.Snapshot, p *provider.Provider, uses []batch.Use) (map[string]*provider.Target, error) {
	targets := map[string]*provider.Target{}
	for _, use := range uses {
		found := snap.Named(p.Name + "/" + strings.TrimPrefix(use.Model, p.Name+"/"))
		if len(found) == 0 || !found[0].Serves(use.Op) {
			return nil, llm.Errorf(llm.ModelNotFound, "Model %q in the file is not available from %s for the requested endpoint. Use a model that this provider offers.", show.ShortenName(use.Model), p.Name)
		}
		targets[use.Model] = found[0]
	}
	return targets, nil
}

// create creates a batch at the provider that holds its input file.
func (o *objectRequest) create(ctx context.Context) ([]byte, error) {
	limits := o.settings.Upload
	limits.Body = min(limits.Body, maxObject)
	body, err := o.uploads.Read(o.w, o.http, o.call.Route.Op, o.call.Grant.Workspace.ID, limits)
	if err != nil {
		return nil, err
	}
	defer body.Release()
	o.entry.BytesIn = int64(len(body.Bytes))
	if _, err := strict.Object(ctx, body.Bytes); err != nil {
		return nil, err
	}
	id := rawjson.Get(body.Bytes, "input_file_id")
	if id.Kind != rawjson.Text || id.String() == "" {
		return nil, strict.Reject(strict.Problem{Param: "input_file_id", Message: "input_file_id is required. Upload a file and send its id."})
	}
	file, p, err := o.find(ctx, batch.File, id.String())
	if err != nil {
		e := *llm.AsError(err)
		e.Param = "input_file_id"
		return nil, &e
	}
	if len(file.Uses) == 0 {
		return nil, strict.Reject(strict.Problem{Param: "input_file_id", Message: "The file is the result of a batch. Upload a file with requests."})
	}
	o.entry.Requested = file.Uses[0].Model
	for _, use := range file.Uses {
		if err := o.permit(p, use); err != nil {
			return nil, err
		}
	}
	made := o.newObject(p)
	made.Credential, made.Uses = file.Credential, file.Uses
	_, total := o.maxBatchCharges(made)
	hold, err := o.Ledger.Hold(ctx, budget.Applied(o.call.Grant), total)
	if err != nil {
		return nil, err
	}
	data, err := o.make(ctx, p, made, &provider.ObjectOperation{
		Credential: file.Credential, Method: http.MethodPost, Path: []string{"batches"}, Body: body.Bytes, ContentType: "application/json",
	})
	if err != nil {
		hold.Release()
		return nil, err
	}
	o.objects.keepHold(batchID{made.WorkspaceID, rawjson.Get(data, "id").String()}, hold)
	return data, nil
}

// permit rejects a model that the key or a policy does not allow at the provider, and a model without a batch price unless the key allows
// models without a price.
func (o *objectRequest) permit(p *provider.Provider, use batch.Use) error {
	d, err := o.decideModel(use.Op, p.Name+"/"+use.Model)
	if err != nil {
		return err
	}
	if t := d.Plan[0]; t.Provider != p.Name || t.Model.Name != use.Model {
		return llm.Errorf(llm.PolicyRejected, "A policy routes requests for %s to %s, but a batch runs only at the provider that stores its file. Use another model, or change the policy.", use.Model, t.ID()).With("policy", d.Policy)
	}
	if batchPrice(d.Plan[0], o.call.Start) == nil && !o.settings.AllowsUnpriced(o.call.Grant) {
		return llm.Errorf(llm.NoRoute, "The batch price of %s is unknown. Use another model, or allow models without a price for the key.", d.Plan[0].ID())
	}
	return nil
}

// make creates an object and records its owner. The call continues if the client disconnects, because otherwise a batch could run
// without an owner.
func (o *objectRequest) make(ctx context.Context, p *provider.Provider, made batch.Object, op *provider.ObjectOperation) ([]byte, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), o.settings.Attempts.Total)
	defer stop()
	data, err := o.callProvider(ctx, p, op)
	if err != nil {
		return nil, objectFailure(p, err)
	}
	made.Data, made.ID = data, rawjson.Get(data, "id").String()
	if made.ID == "" {
		return nil, llm.Errorf(llm.UpstreamMalformed, "%s returned no id for the new %s.", p.Title, made.Kind)
	}
	if err := o.addObject(ctx, made); err != nil {
		undo := &provider.ObjectOperation{Credential: made.Credential, Method: http.MethodDelete, Path: []string{"files", made.ID}}
		if made.Kind == batch.Batch {
			undo.Method, undo.Path = http.MethodPost, []string{"batches", made.ID, "cancel"}
		}
		_, undone := o.callProvider(ctx, p, undo)
		o.Logger.ErrorContext(ctx, "owner of a provider object was not recorded", "provider", p.Name, "object", made.ID, "undone", undone == nil, "error", err.Error())
		return nil, databaseError(err)
	}
	return data, nil
}

// find returns an object of the workspace and the provider that holds it.
func (o *objectRequest) find(ctx context.Context, kind batch.Kind, id string) (batch.Object, *provider.Provider, error) {
	found, err := o.Objects.Object(ctx, o.call.Grant.Workspace.ID, kind, id)
	if errors.Is(err, batch.ErrNotFound) {
		return found, nil, objectNotFound(kind, id)
	}
	if err != nil {
		return found, nil, databaseError(err)
	}
	p, err := o.holder(found)
	return found, p, err
}

// holder returns the provider that holds an object.
func (o *objectRequest) holder(object batch.Object) (*provider.Provider, error) {
	p, ok := reachAccount(o.snapshot, llm.Account{Provider: object.Provider, Credential: object.Credential})
	if !ok || p.Objects == nil {
		return nil, accountRemoved(object.Kind)
	}
	o.entry.Provider = p.Name
	return p, nil
}

// one performs an operation on one object. It returns nil if it has sent the content of a file.
func (o *objectRequest) one(ctx context.Context, id, part string) ([]byte, error) {
	found, p, err := o.find(ctx, o.kind, id)
	if err != nil {
		return nil, err
	}
	op := &provider.ObjectOperation{Credential: found.Credential, Method: o.http.Method, Path: []string{string(o.call.Route.Op), id}}
	if op.Method == http.MethodHead {
		op.Method = http.MethodGet
	}
	if part != "" {
		op.Path = append(op.Path, part)
	}
	if part == "content" {
		return nil, o.content(ctx, p, found, op)
	}
	data, err := o.callProvider(ctx, p, op)
	if err != nil {
		return nil, o.gone(ctx, p, found, err)
	}
	if op.Method == http.MethodDelete {
		if err := o.removeObject(context.WithoutCancel(ctx), found); err != nil {
			return nil, databaseError(err)
		}
		return data, nil
	}
	found.Data = data
	return data, o.received(ctx, p, found)
}

// gone converts a failed read of an object to an error for the client. If the provider does not have the object, it deletes the record, but
// not the record of a batch that has not been charged.
func (o *objectRequest) gone(ctx context.Context, p *provider.Provider, object batch.Object, err error) error {
	if llm.AsError(err).UpstreamStatus != http.StatusNotFound {
		return objectFailure(p, err)
	}
	if object.Kind == batch.File || object.Settled {
		if err := o.removeObject(context.WithoutCancel(ctx), object); err != nil {
			return databaseError(err)
		}
	}
	return objectNotFound(object.Kind, object.ID)
}

// content sends the content of a file to the client.
func (o *objectRequest) content(ctx context.Context, p *provider.Provider, object batch.Object, op *provider.ObjectOperation) error {
	stream, err := o.Dispatcher.CallObject(ctx, p, op, o.settings.Attempts.Idle)
	if err != nil {
		return o.gone(ctx, p, object, err)
	}
	defer stream.Close()
	kind := "application/octet-stream"
	o.out.Header().Set("X-Fairlead-Provider", p.Name)
	for {
		ev, ok, err := stream.Next()
		if err != nil {
			return objectFailure(p, err)
		}
		if ok && ev.Type != "" {
			kind = ev.Type
		}
		// Send the headers even if the file is empty.
		if err := o.out.Bytes(ev.Data, kind); err != nil {
			return &llm.Error{Kind: llm.ClientCancelled, Message: "The client stopped reading the response.", Err: err}
		}
		if !ok {
			return nil
		}
	}
}

// received stores the JSON of an object from the provider. For a batch, it also records the files of the batch and, when the batch has
// ended, charges its usage once.
func (o *objectRequest) received(ctx context.Context, p *provider.Provider, object batch.Object) error {
	ctx = context.WithoutCancel(ctx)
	if object.Kind == batch.Batch {
		for _, id := range batch.Files(object.Data) {
			file := batch.Object{WorkspaceID: object.WorkspaceID, Kind: batch.File, ID: id, KeyID: object.KeyID, Provider: object.Provider, Credential: object.Credential, CreatedAt: o.call.Start}
			if err := o.addObject(ctx, file); err != nil {
				return databaseError(err)
			}
		}
		if err := o.settleBatch(ctx, p, object); err != nil {
			return err
		}
	}
	if err := o.Objects.SaveObject(ctx, object); err != nil {
		return databaseError(err)
	}
	return nil
}

// list returns the objects of the workspace, newest first. Unfinished batches are read from their providers.
func (o *objectRequest) list(ctx context.Context) ([]byte, error) {
	query := o.http.URL.Query()
	count := defaultObjects
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, strict.Reject(strict.Problem{Param: "limit", Message: "limit must be a positive number."})
		}
		count = min(n, maxObjects)
	}
	if order := query.Get("order"); order != "" && order != "desc" {
		return nil, strict.Reject(strict.Problem{Param: "order", Message: "Objects are listed newest first. Use order=desc or omit order."})
	}
	objects, err := o.Objects.Objects(ctx, o.call.Grant.Workspace.ID, o.kind, query.Get("after"), count+1)
	if errors.Is(err, batch.ErrNotFound) {
		return nil, objectNotFound(o.kind, query.Get("after"))
	}
	if err != nil {
		return nil, databaseError(err)
	}
	more := len(objects) > count
	objects = objects[:min(count, len(objects))]
	o.refresh(ctx, objects)
	w := rawjson.Writer{}
	w.Open()
	w.Str("object", "list")
	w.OpenList("data")
	for _, one := range objects {
		expires, purpose := rawjson.Get(one.Data, "expires_at"), query.Get("purpose")
		expired := one.Kind == batch.File && expires.Kind == rawjson.Number && expires.Int() <= o.call.Start.Unix()
		if len(one.Data) > 0 && !expired && (purpose == "" || rawjson.Get(one.Data, "purpose").String() == purpose) {
			w.Element(one.Data)
		}
	}
	w.CloseList()
	if len(objects) > 0 {
		w.Str("first_id", objects[0].ID)
		w.Str("last_id", objects[len(objects)-1].ID)
	}
	w.Bool("has_more", more)
	w.Close()
	o.entry.Provider = ""
	return w.Out, nil
}

// refresh reads objects from their providers: batches that are not settled, and files without stored JSON. If a provider no
// longer has an object, refresh clears its data. After any other error, the object keeps its last state.
func (o *objectRequest) refresh(ctx context.Context, objects []batch.Object) {
	slots := make(chan struct{}, maxRefreshes)
	var tasks sync.WaitGroup
	for i := range objects {
		one := &objects[i]
		if len(one.Data) > 0 && (one.Kind == batch.File || one.Settled) {
			continue
		}
		p, err := o.holder(*one)
		if err != nil {
			continue
		}
		slots <- struct{}{}
		tasks.Go(func() {
			defer func() { <-slots }()
			data, err := o.callProvider(ctx, p, &provider.ObjectOperation{Credential: one.Credential, Method: http.MethodGet, Path: []string{string(o.call.Route.Op), one.ID}})
			if err != nil {
				if llm.AsError(err).UpstreamStatus == http.StatusNotFound {
					one.Data = nil
				}
				return
			}
			read := *one
			read.Data = data
			if err := o.received(ctx, p, read); err == nil {
				one.Data = data
			}
		})
	}
	tasks.Wait()
}

// callProvider performs an operation and returns the JSON object of the response.
func (o *objectRequest) callProvider(ctx context.Context, p *provider.Provider, op *provider.ObjectOperation) ([]byte, error) {
	stream, err := o.Dispatcher.CallObject(ctx, p, op, o.settings.Attempts.Idle)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var out bytes.Buffer
	for {
		ev, ok, err := stream.Next()
		switch {
		case err != nil:
			return nil, err
		case ok:
			if out.Write(ev.Data); out.Len() <= maxObject {
				continue
			}
		}
		data := out.Bytes()
		if len(data) > maxObject || !rawjson.Parse(data).IsObject() || !rawjson.Valid(data) {
			return nil, llm.Errorf(llm.UpstreamMalformed, "The provider's response is not a JSON object or is larger than %d bytes.", maxObject)
		}
		return data, nil
	}
}

func objectNotFound(kind batch.Kind, id string) error {
	name := "File"
	if kind == batch.Batch {
		name = "Batch"
	}
	return llm.Errorf(llm.NotFound, "%s %q was not found.", name, show.Shorten(id))
}

// objectFailure converts an error of a provider to an error for the client.
func objectFailure(p *provider.Provider, err error) *llm.Error {
	e := llm.AsError(err)
	if e.UpstreamStatus == 0 {
		return e
	}
	shown := *e
	shown.Message = fmt.Sprintf("%s returned an error: %s", p.Name, strings.TrimSpace(e.Message))
	if e.Kind == llm.UpstreamAuth { // clients take the provider's words for a statement about their own credential
		shown.Message = fmt.Sprintf("%s does not accept the gateway's credential. Ask the operator to check it.", p.Name)
	}
	return shown.With("provider", p.Name)
}

// databaseError converts a failed database access to an error for the client.
func databaseError(err error) error {
	if _, ok := errors.AsType[*llm.Error](err); ok {
		return err
	}
	return &llm.Error{Kind: llm.LedgerUnavailable, Message: "Files and batches are unavailable while the database is unreachable. Retry later.", Err: err, RetryAfter: time.Second}
}
