package vendormock

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// edits is the number of edits in [edit loop]. With the calls that read the file, the loop has 2*edits+2 calls.
const edits = 9

// filePath matches the file in a prompt with [edit loop].
var filePath = regexp.MustCompile(`/\S+\.txt`)

// nextEdit returns the next calls of [edit loop], with the tools that the coding agent offers. The first calls list the
// directory and read the file, which contains "count: 0". Nine times, the next calls replace the number with the next
// one and read the file again. nextEdit returns nothing at the end, or when the file does not have the content that the
// previous edits should have produced.
func (c *Conversation) nextEdit() []Part {
	path, loop := filePath.FindString(c.Prompt()), c.loop()
	done := len(loop)
	switch {
	case done == 0 && c.Single:
		return []Part{c.commandCall("ls " + directory(path))}
	case done == 0:
		return []Part{c.commandCall("ls " + directory(path)), c.readCall(path)}
	case done == 1:
		return []Part{c.readCall(path)}
	case done == 2*edits+2 || done%2 == 0 && editFault(loop) != "":
		return nil
	case done%2 == 0:
		return []Part{c.replaceCall(path, countLine(done/2-1), countLine(done/2))}
	}
	return []Part{c.readCall(path)}
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
	return fmt.Sprintf("Call %d, %s %s, should return %q; it returned %q.", len(loop), last.call.Name, Compact(last.call.Input), want, last.result.Text)
}

func countLine(n int) string { return fmt.Sprintf("count: %d", n) }

func directory(path string) string { return path[:strings.LastIndex(path, "/")] }

var (
	listing = regexp.MustCompile("(?s)([\\w.]+\\.txt)\n```\n(.*?)```")
	counter = regexp.MustCompile(`count: (\d+)`)
)

// editText returns the answer to [edit text], for agents that have no tools: the complete content of the last file in the
// conversation, with the next number.
func (c *Conversation) editText() string {
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
func (c *Conversation) readCall(path string) Part {
	return c.chooseCall([]option{
		{"Read", Object{"file_path": path}},
		{"read", Object{"filePath": path}},
		{"read_file", Object{"file_path": path}},
		{"read_files", Object{"files": []Object{{"path": path}}}},
	}, "cat "+path)
}

// replaceCall returns a call that replaces a line in a file.
func (c *Conversation) replaceCall(path, before, after string) Part {
	patch := "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + before + "\n+" + after + "\n*** End Patch\n"
	return c.chooseCall([]option{
		{"apply_patch", Object{"input": patch}},
		{"Edit", Object{"file_path": path, "old_string": before, "new_string": after}},
		{"edit", Object{"filePath": path, "oldString": before, "newString": after}},
		{"replace", Object{"file_path": path, "old_string": before, "new_string": after, "instruction": "Replace the line"}},
		{"editor", Object{"path": path, "old_text": before, "new_text": after}},
	}, fmt.Sprintf("sed -i 's/^%s$/%s/' %s", before, after, path))
}

// commandCall returns a call to the tool that runs commands.
func (c *Conversation) commandCall(command string) Part {
	return c.chooseCall([]option{
		{"exec_command", Object{"cmd": command}},
		{"shell_command", Object{"command": command}},
		{"shell", Object{"command": []string{"bash", "-c", command}}},
		{"Bash", Object{"command": command, "description": "Run a command"}},
		{"bash", Object{"command": command}},
		{"run_shell_command", Object{"command": command, "description": "Run a command"}},
		{"run_commands", Object{"commands": []string{command}}},
	}, "")
}

// option is a tool and its arguments.
type option struct {
	name  string
	input Object
}

// chooseCall returns a call to the first option whose tool the request offers, or else a call that runs the command.
func (c *Conversation) chooseCall(options []option, command string) Part {
	for _, o := range options {
		for _, t := range c.Tools {
			switch {
			case t.Name != o.name:
			case t.Custom:
				text, _ := o.input["input"].(string)
				return Part{Name: o.name, Input: json.RawMessage(text), Custom: true}
			default:
				return Part{Name: o.name, Input: Encode(o.input)}
			}
		}
	}
	if command == "" {
		return Part{}
	}
	return c.commandCall(command)
}
