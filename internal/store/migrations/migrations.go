// Package migrations embeds the numbered migrations of the database schema.
package migrations

import "embed"

// Files holds one file per migration, named by its number.
//
//go:embed *.sql
var Files embed.FS
