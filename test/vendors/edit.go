package vendors

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"fairlead.dev/internal/simulator"
)

// edits is the number of edits in [edit loop]. With the calls that read the file, the loop has 2*edits+2 calls.
const edits = 9

// filePath matches the file in a prompt with [edit loop].
var filePath = regexp.MustCompile(`/\S+\.txt`)

// nextEdit returns the next calls of [edit loop], with the tools that the coding agent offers. The first calls list the
// directory and read the file, which contains "count: 0". Nine times, the next calls replace the number with the next
// one and read the file again. nextEdit returns nothing at the end, or when the file does not have the content that the
// previous edits should have produced.
func (c conversation) nextEdit() []simulator.Part {
	path, loop := filePath.FindString(c.Prompt()), c.loop()
	done := len(loop)
	switch {
	case done == 0 && c.Single:
		return []simulator.Part{c.commandCall("ls " + directory(path))}
	case done == 0:
		return []simulator.Part{c.commandCall("ls " + directory(path)), c.readCall(path)}
	case done == 1:
		return []simulator.Part{c.readCall(path)}
	case done == 2*edits+2 || done%2 == 0 && editFault(loop) != "":
		return nil
	case done%2 == 0:
		return []simulator.Part{c.replaceCall(path, countLine(done/2-1), countLine(done/2))}
	}
	return []simulator.Part{c.readCall(path)}
}

// editReport returns the text at the end of [edit loop].
func editReport(loop []exchange) string {
	if fault := editFault(loop); fault != "" {
		return fault
	}
	return fmt.Sprintf("Edited the file %d times.", len(loop)/2-1)
}

// editFault compares the last result with the expected content of the file after the edits so far. It returns "" if they match.
func editFault(loop []exchange) string {
	last, want := loop[len(loop)-1], countLine(len(loop)/2-1)
	if strings.Contains(last.result.Text, want) {
		return ""
	}
	return fmt.Sprintf("Call %d, %s %s, should return %q; it returned %q.", len(loop), last.call.Name, compact(last.call.Input), want, last.result.Text)
}

func countLine(n int) string { return fmt.Sprintf("count: %d", n) }

func directory(path string) string { return path[:strings.LastIndex(path, "/")] }

var (
	listing = regexp.MustCompile("(?s)([\\w.]+\\.txt)\n```\n(.*?)```")
	counter = regexp.MustCompile(`count: (\d+)`)
)

// editText returns the answer to [edit text], for agents that have no tools: the complete content of the last file in the
// conversation, with the next number.
func (c conversation) editText() string {
	var name, text string
	for _, turn := range c.Turns {
		for _, p := range turn.Parts {
			for _, found := range listing.FindAllStringSubmatch(p.Text, -1) {
				name, text = found[1], found[2]
			}
		}
	}
	text = counter.ReplaceAllStringFunc(text, func(line string) string {
		n, err := strconv.Atoi(counter.FindStringSubmatch(line)[1])
		if err != nil {
			return line
		}
		return countLine(n + 1)
	})
	return "Edited the file.\n\n" + name + "\n```\n" + text + "```\n"
}

// readCall returns a call that reads a file.
func (c conversation) readCall(path string) simulator.Part {
	return c.chooseCall([]option{
		{"Read", simulator.Object{"file_path": path}},
		{"Read", simulator.Object{"filepath": path}},
		{"read", simulator.Object{"filePath": path}},
		{"read", simulator.Object{"path": path}},
		{"read_file", simulator.Object{"file_path": path}},
		{"view", simulator.Object{"path": path}},
		{"read_files", simulator.Object{"files": []simulator.Object{{"path": path}}}},
	}, "cat "+path)
}

// replaceCall returns a call that replaces a line in a file.
func (c conversation) replaceCall(path, before, after string) simulator.Part {
	patch := "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + before + "\n+" + after + "\n*** End Patch\n"
	return c.chooseCall([]option{
		{"apply_patch", simulator.Object{"input": patch}},
		{"Edit", simulator.Object{"file_path": path, "old_string": before, "new_string": after}},
		{"edit", simulator.Object{"filePath": path, "oldString": before, "newString": after}},
		{"edit", simulator.Object{"file_path": path, "old_string": before, "new_string": after}},
		{"edit", simulator.Object{"path": path, "old_str": before, "new_str": after}},
		{"edit", simulator.Object{"path": path, "before": before, "after": after}},
		{"edit", simulator.Object{"path": path, "edits": []simulator.Object{{"oldText": before, "newText": after}}}},
		{"replace", simulator.Object{"file_path": path, "old_string": before, "new_string": after, "instruction": "Replace the line"}},
		{"editor", simulator.Object{"path": path, "old_text": before, "new_text": after}},
	}, fmt.Sprintf("sed -i 's/^%s$/%s/' %s", before, after, path))
}

// commandCall returns a call to the tool that runs commands.
func (c conversation) commandCall(command string) simulator.Part {
	return c.chooseCall([]option{
		{"exec_command", simulator.Object{"cmd": command}},
		{"shell_command", simulator.Object{"command": command}},
		{"shell", simulator.Object{"command": []string{"bash", "-c", command}}},
		{"shell", simulator.Object{"command": command}},
		{"Bash", simulator.Object{"command": command, "description": "Run a command"}},
		{"Bash", simulator.Object{"command": command}},
		{"bash", simulator.Object{"command": command, "description": "Run a command"}},
		{"bash", simulator.Object{"command": command}},
		{"run_shell_command", simulator.Object{"command": command, "description": "Run a command", "is_background": false}},
		{"run_shell_command", simulator.Object{"command": command, "description": "Run a command"}},
		{"run_commands", simulator.Object{"commands": []string{command}}},
	}, "")
}

// option is a tool and its arguments.
type option struct {
	name  string
	input simulator.Object
}

// fits reports whether the tool accepts the arguments of the option. The tools of different agents can have the same name.
func (o option) fits(t simulator.Tool) bool {
	for name, value := range o.input {
		argument := gjson.GetBytes(t.Schema, "properties."+name)
		if _, list := value.([]string); !argument.Exists() || list && argument.Get("type").String() != "array" {
			return false
		}
	}
	return o.name == t.Name
}

// chooseCall returns a call to the first option whose tool the request offers, or else a call that runs the command.
func (c conversation) chooseCall(options []option, command string) simulator.Part {
	for _, o := range options {
		for _, t := range c.Tools {
			switch {
			case t.Name == o.name && t.Custom:
				text, _ := o.input["input"].(string)
				return simulator.Part{Name: o.name, Input: json.RawMessage(text), Custom: true}
			case o.fits(t):
				return simulator.Part{Name: o.name, Input: simulator.Encode(o.input)}
			}
		}
	}
	if command == "" {
		return simulator.Part{}
	}
	return c.commandCall(command)
}
