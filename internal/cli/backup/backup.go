// Package backup implements "fairlead backup" and "fairlead restore".
package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"fairlead.dev/internal/cli"
	"fairlead.dev/internal/cli/instance"
	"fairlead.dev/internal/config"
	"fairlead.dev/internal/store"
	"fairlead.dev/internal/store/sqldb"
	"fairlead.dev/internal/vault"
)

const database = "fairlead.db"

// NewBackup returns the command "backup".
func NewBackup(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the SQLite database to a new file and verify the copy", Args: oneFile,
		Long: "Copy the SQLite database to a new file and verify the copy. The server can run meanwhile. The copy does not contain the master key, " +
			"prices set by hand, and entries in the spool. Keep a copy of the master key in another place.",
		Example: `  fairlead backup /backups/fairlead.db`,
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := sqlite(c, o, "pg_dump")
			if err != nil {
				return err
			}
			if err := sqldb.BackupSQLite(cmd.Context(), settings.DataDir, args[0]); errors.Is(err, fs.ErrExist) {
				return cli.WithFix(err, "choose another file name, or delete the file")
			} else if err != nil {
				return fmt.Errorf("back up: %w", err)
			}
			key := "the configured master key (master_key)"
			if settings.MasterKey == "" {
				key = filepath.Join(settings.DataDir, vault.MasterKeyFile)
			}
			c.Infof(o, "Wrote and verified %s. It contains stored prompts and responses in plain text. The master key is not included: keep a separate copy of %s, without which the backup cannot be used.", args[0], key)
			return nil
		},
	}
}

// NewRestore returns the command "restore".
func NewRestore(c *cli.Console, o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Replace the SQLite database with a backup", Args: oneFile,
		Long: "Replace the SQLite database with a backup after verifying the backup and the master key. Stop the server first. The previous database is " +
			"kept as fairlead.db.replaced.",
		Example: `  fairlead restore /backups/fairlead.db`,
		RunE: func(cmd *cobra.Command, args []string) error {
			settings, err := sqlite(c, o, "pg_restore")
			if err != nil {
				return err
			}
			yes, err := c.Confirm(cmd.Context(), o, "Replace the database in "+settings.DataDir+"?")
			if err != nil || !yes {
				return err
			}
			if err := restore(cmd.Context(), settings, args[0]); err != nil {
				return err
			}
			c.Infof(o, "Restored %s. Start the server.", args[0])
			return nil
		},
	}
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return cli.Usagef("run  "+cmd.CommandPath()+" FILE", "%s requires one file", cmd.CommandPath())
	}
	return nil
}

// sqlite returns the configuration if it uses SQLite.
func sqlite(c *cli.Console, o *cli.Options, instead string) (config.Config, error) {
	loaded, err := instance.LoadConfig(c, o, o.Flags())
	if err != nil {
		return config.Config{}, err
	}
	if loaded.Config.Store != "sqlite" {
		return config.Config{}, cli.WithFix(errors.New("the database is PostgreSQL, which has its own tools for backups"), "run  %s", instead)
	}
	return loaded.Config, nil
}

// restore verifies a copy of the backup in the data directory, and then replaces the database with it.
func restore(ctx context.Context, c config.Config, backup string) (err error) {
	if err := sqldb.VerifySQLite(ctx, backup); err != nil {
		return fmt.Errorf("verify the backup: %w", err)
	}
	unlock, err := store.Lock(c.DataDir)
	if errors.Is(err, store.ErrLocked) {
		return cli.WithFix(err, "stop the server")
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if _, err := os.Stat(filepath.Join(c.DataDir, vault.MasterKeyFile)); err != nil && c.MasterKey == "" {
		return cli.WithFix(fmt.Errorf("find the master key: %w", err), "put the master key of the backup into %s", c.DataDir)
	}
	master, err := vault.LoadOrCreateMasterKey(c.DataDir, c.MasterKey)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(c.DataDir, "restore-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := copyFile(filepath.Join(dir, database), backup); err != nil {
		return err
	}
	db, err := store.Open(ctx, "sqlite", dir, store.Options{Connections: 1})
	if err != nil {
		return fmt.Errorf("open the backup: %w", err)
	}
	if err := errors.Join(vault.Confirm(ctx, db, master), db.Close()); err != nil { // closing merges the write-ahead file
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		file := filepath.Join(c.DataDir, database) + suffix
		if err := os.Rename(file, filepath.Join(c.DataDir, database+".replaced"+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Rename(filepath.Join(dir, database), filepath.Join(c.DataDir, database))
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // the error is ignored, because the file was only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
