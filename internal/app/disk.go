package app

// FreeBytes returns the free space of the disk that holds a directory, or -1 when it is unknown.
func FreeBytes(dir string) int64 {
	free, _ := diskBytes(dir)
	return free
}
