package gateway

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"fairlead.dev/internal/batch"
	"fairlead.dev/internal/llm"
	"fairlead.dev/internal/provider"
	"fairlead.dev/internal/route"
	"fairlead.dev/internal/wire/show"
	"fairlead.dev/internal/wire/strict"
)

// maxOwners is the maximum number of files in each of the two cache generations.
const maxOwners = 10_000

// ownerCache keeps the owners of files, and the ids of files that no workspace has recorded, so that the turns of a conversation read
// the database only once. A file never changes its owner or its account. The zero value is ready to use.
type ownerCache struct {
	mu            sync.Mutex
	newer, former map[string][]batch.Owner // owners by file id; an empty list for a file without a record
	changes       int                      // number of times that forget was called
}

// find returns the owners of the files that are in the cache, the ids of the other files, and a state to pass to add. The first
// two results omit ids that are too long or not valid text, because the database cannot contain them.
func (c *ownerCache) find(files []llm.StoredFile) (owners map[string][]batch.Owner, missing []string, state int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	owners = make(map[string][]batch.Owner, len(files))
	for _, f := range files {
		list, ok := c.newer[f.ID]
		if !ok {
			if list, ok = c.former[f.ID]; ok {
				c.keep(f.ID, list)
			}
		}
		switch {
		case ok:
			owners[f.ID] = list
		case len(f.ID) <= strict.MaxName && utf8.ValidString(f.ID) && !strings.Contains(f.ID, "\x00"):
			missing = append(missing, f.ID)
		}
	}
	return owners, missing, c.changes
}

// add caches the owners that were read from the database after find returned state. If forget has been called since then, add does nothing,
// because the owners may be outdated.
func (c *ownerCache) add(ids []string, owners map[string][]batch.Owner, state int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != state {
		return
	}
	for _, id := range ids {
		c.keep(id, owners[id])
	}
}

// keep stores a file in the newer generation. A full generation replaces the former one. The caller holds the lock.
func (c *ownerCache) keep(id string, owners []batch.Owner) {
	if c.newer == nil || len(c.newer) >= maxOwners {
		c.newer, c.former = map[string][]batch.Owner{}, c.newer
	}
	c.newer[id] = owners
}

// forget removes a file whose record was added or deleted, so that the next request reads the record.
func (c *ownerCache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	delete(c.newer, id)
	delete(c.former, id)
}

// addObject records the owner of an object.
func (g *Gateway) addObject(ctx context.Context, o batch.Object) error {
	defer g.objects.owners.forget(o.ID) // forget the owner even after an error, because the record may have been written
	return g.Objects.AddObject(ctx, o)
}

// removeObject deletes the record of an object.
func (g *Gateway) removeObject(ctx context.Context, o batch.Object) error {
	defer g.objects.owners.forget(o.ID)
	return g.Objects.RemoveObject(ctx, o)
}

// fileOwners returns the owners of files by file id. It returns no owners for a file without a record.
func (g *Gateway) fileOwners(ctx context.Context, files []llm.StoredFile) (map[string][]batch.Owner, error) {
	if g.Owners == nil {
		return nil, nil
	}
	owners, missing, state := g.objects.owners.find(files)
	if len(missing) == 0 {
		return owners, nil
	}
	read, err := g.Owners.FileOwners(ctx, missing)
	if err != nil {
		return nil, databaseError(err)
	}
	for _, o := range read {
		owners[o.ID] = append(owners[o.ID], o)
	}
	g.objects.owners.add(missing, owners, state)
	return owners, nil
}

// bindFiles binds a request to the provider account that holds the files in the request. It returns NotFound for a file that only other
// workspaces have recorded. Files without a record are allowed, because operators may upload files directly to the provider. See
// docs/decisions/objects.md.
func (r *run) bindFiles(ctx context.Context, req *llm.Request) error {
	if len(req.StoredFiles) > llm.MaxStoredFiles {
		return llm.Errorf(llm.InvalidRequest, "The request refers to more than %d files that providers store. Send fewer file IDs.", llm.MaxStoredFiles)
	}
	owners, err := r.fileOwners(ctx, req.StoredFiles)
	if err != nil {
		return err
	}
	for _, f := range req.StoredFiles {
		recorded := owners[f.ID]
		if len(recorded) == 0 {
			continue
		}
		i := slices.IndexFunc(recorded, func(o batch.Owner) bool { return o.WorkspaceID == r.call.Grant.Workspace.ID })
		if i < 0 {
			e := llm.Errorf(llm.NotFound, "File %q was not found. Upload the file again, or send its content.", show.Shorten(f.ID))
			e.Param = f.Param
			return e
		}
		if err := bindFile(r.snapshot, llm.Account{Provider: recorded[i].Provider, Credential: recorded[i].Credential}, f.Param, req); err != nil {
			return err
		}
	}
	return nil
}

// bindFile binds a request to the account that holds a file.
func bindFile(snap *route.Snapshot, at llm.Account, param string, req *llm.Request) error {
	only := &req.Controls.Provider.Only
	var e *llm.Error
	switch _, ok := reachAccount(snap, at); {
	case !ok:
		e = accountRemoved(batch.File)
	case req.Holder != nil && *req.Holder != at:
		e = llm.Errorf(llm.InvalidRequest, "The request refers to objects of several provider accounts, but only one account can serve it. Use objects of one account.")
	case len(*only) > 0 && !slices.Contains(*only, at.Provider):
		e = llm.Errorf(llm.InvalidRequest, "The file is stored by %s, which provider.only excludes. Add the provider to provider.only, or send the content of the file.", at.Provider)
	default:
		*only, req.Holder = []string{at.Provider}, &at
		return nil
	}
	e.Param = param
	return e
}

// reachAccount returns the provider of an account, and whether the account is configured.
func reachAccount(snap *route.Snapshot, at llm.Account) (*provider.Provider, bool) {
	p, ok := snap.Provider(at.Provider)
	if !ok || at.Credential == "" {
		return p, ok
	}
	return p, slices.ContainsFunc(p.Credentials, func(c provider.Credential) bool { return c.ID == at.Credential })
}

// accountRemoved returns the error for an object whose account was removed from the configuration.
func accountRemoved(kind batch.Kind) *llm.Error {
	return llm.Errorf(llm.NotFound, "The %s cannot be reached: the provider account that stores it was removed from the configuration.", kind)
}
