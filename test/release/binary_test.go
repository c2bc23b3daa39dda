package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"errors"
	"io"
	"testing"
)

// binary returns the program in the archive for a system.
func (f folder) binary(t *testing.T, system, arch string) []byte {
	t.Helper()
	read := func(from io.Reader, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	if system == "windows" {
		data := f.read(t, f.name(system, arch)+".zip")
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		return read(archive.Open("fairlead.exe"))
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(f.read(t, f.name(system, arch)+".tar.gz")))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("the archive for %s %s does not contain fairlead", system, arch)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name == "fairlead" {
			if header.FileInfo().Mode().Perm() != 0o755 {
				t.Errorf("the program for %s %s has the mode %v, want 0755", system, arch, header.FileInfo().Mode())
			}
			return read(archive, nil)
		}
	}
}

func TestArchivesHaveProgramsForTheirSystem(t *testing.T) {
	f := open(t)
	for arch, machine := range map[string]struct {
		linux   elf.Machine
		darwin  macho.Cpu
		windows uint16
	}{
		"amd64": {elf.EM_X86_64, macho.CpuAmd64, pe.IMAGE_FILE_MACHINE_AMD64},
		"arm64": {elf.EM_AARCH64, macho.CpuArm64, pe.IMAGE_FILE_MACHINE_ARM64},
	} {
		linux, err := elf.NewFile(bytes.NewReader(f.binary(t, "linux", arch)))
		if err != nil {
			t.Errorf("linux %s: %v", arch, err)
		} else if linux.Machine != machine.linux {
			t.Errorf("linux %s: the machine is %v, want %v", arch, linux.Machine, machine.linux)
		} else if libraries, _ := linux.ImportedLibraries(); len(libraries) > 0 || linux.Section(".interp") != nil {
			t.Errorf("linux %s is not static: libraries %v, interpreter %v", arch, libraries, linux.Section(".interp") != nil)
		}
		if darwin, err := macho.NewFile(bytes.NewReader(f.binary(t, "darwin", arch))); err != nil {
			t.Errorf("darwin %s: %v", arch, err)
		} else if darwin.Cpu != machine.darwin || darwin.Type != macho.TypeExec {
			t.Errorf("darwin %s: CPU %v, type %v, want %v, %v", arch, darwin.Cpu, darwin.Type, machine.darwin, macho.TypeExec)
		}
		if windows, err := pe.NewFile(bytes.NewReader(f.binary(t, "windows", arch))); err != nil {
			t.Errorf("windows %s: %v", arch, err)
		} else if windows.Machine != machine.windows {
			t.Errorf("windows %s: the machine is %#x, want %#x", arch, windows.Machine, machine.windows)
		}
	}
}
