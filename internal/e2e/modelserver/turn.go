package modelserver

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// A turn is what a request of any protocol comes down to.
type turn struct {
	protocol string
	model    string
	stream   bool
	tools    []tool
	schema   json.RawMessage // of the answer, where it has to be JSON
	history  []message
}

// A message is one of the conversation so far, without what the protocols add.
type message struct {
	role    string // user, assistant, tool or what else instructs the model
	text    string
	results int // of tools, which it carries
}

// A tool is offered by the program: what it is called, and the names and types of what it takes.
type tool struct {
	name   string
	custom bool // takes a text, no object
	code   bool // that text is JavaScript, in which the other tools are functions
	takes  map[string]string
}

// A reply has words of the model's, a call of a tool, or both.
type reply struct {
	text string
	call *call
}

type call struct {
	tool string
	args map[string]any
	text string // what a custom tool takes
}

// parameters reads the names and types out of a JSON schema of an object.
func parameters(schema json.RawMessage) map[string]string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage `json:"type"`
		} `json:"properties"`
	}
	takes := map[string]string{}
	if json.Unmarshal(schema, &s) != nil {
		return takes
	}
	for name, p := range s.Properties {
		takes[name] = strings.ToLower(strings.Trim(string(p.Type), `"`))
	}
	return takes
}

// answer decides what the model says. The number of results of tools since the prompt is the number of steps that are done.
func (t turn) answer() (reply, string) {
	asked, at := task{}, -1
	for i, m := range t.history {
		if found, ok := findTask(m.text); ok && m.role == "user" && m.results == 0 {
			asked, at = found, i
		}
	}
	if at < 0 || t.auxiliary() {
		return reply{text: t.small()}, "auxiliary"
	}
	done, answered := 0, 0
	for _, m := range t.history[at+1:] {
		done += m.results
		if m.role == "assistant" {
			answered++
		}
	}
	if len(t.tools) == 0 {
		if answered > 0 {
			return reply{text: asked.explanation()}, "explain"
		}
		return reply{text: asked.block() + "\n" + asked.explanation()}, "edit"
	}
	steps := t.steps(asked)
	if done < len(steps) {
		return reply{text: "Step " + steps[done].name + ".", call: &steps[done].call}, steps[done].name
	}
	return t.last(asked), "explain"
}

// auxiliary tells a request for a title, a summary or a decision between models from one of the conversation: it offers no
// tool, and nothing in it says how to edit without one.
func (t turn) auxiliary() bool {
	if len(t.schema) > 0 {
		return true
	}
	edits := func(m message) bool { return m.role == "system" && strings.Contains(m.text, "<<<<<<< SEARCH") }
	return len(t.tools) == 0 && !slices.ContainsFunc(t.history, edits)
}

// small answers what is no step of a task.
func (t turn) small() string {
	if len(t.schema) > 0 {
		return fill(t.schema)
	}
	return "Greetings from the stand-in"
}

// sentinel is how mini-swe-agent wants to be told of the end: by a command whose output begins with it.
const sentinel = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// last is the long answer, and where a command has to end the conversation, that command.
func (t turn) last(asked task) reply {
	ends := func(m message) bool { return strings.Contains(m.text, sentinel) }
	r := reply{text: asked.explanation()}
	if sh := t.shell("echo " + sentinel); sh != nil && slices.ContainsFunc(t.history, ends) {
		r.call = sh
	}
	return r
}

type step struct {
	name string
	call call
}

// steps are the calls for the task with the tools that are offered.
func (t turn) steps(asked task) []step {
	var steps []step
	if edit := t.edit(asked); edit != nil {
		if read := t.find("^[Rr]ead$", "path"); read != nil && edit.args != nil {
			steps = append(steps, step{"read", call{tool: read.name, args: read.fill(map[string]any{"path": asked.file})}})
		}
		steps = append(steps, step{"edit", *edit})
	} else if sh := t.shell(asked.shellEdit()); sh != nil {
		steps = append(steps, step{"edit", *sh})
	}
	if sh := t.shell(asked.command); sh != nil {
		steps = append(steps, step{"shell", *sh})
	}
	return steps
}

// edit is a call of the tool that edits a file, nil without one.
func (t turn) edit(asked task) *call {
	if c := t.code(); c != nil {
		return &call{tool: c.name, text: "text(await tools.apply_patch(" + mustJSON(asked.patch()) + "));\n"}
	}
	if p := t.find("^apply_patch$", ""); p != nil {
		switch {
		case p.custom:
			return &call{tool: p.name, text: asked.patch()}
		case p.parameter("patch", "input") != "":
			return &call{tool: p.name, args: map[string]any{p.parameter("patch", "input"): asked.patch()}}
		}
	}
	e := t.find("^([Ee]dit|replace)$", "old")
	if e == nil {
		return nil
	}
	return &call{tool: e.name, args: e.fill(map[string]any{"path": asked.file, "old": asked.old, "new": asked.new})}
}

// shell is a call of the tool that runs a command, nil without one.
func (t turn) shell(command string) *call {
	if c := t.code(); c != nil {
		return &call{tool: c.name, text: "text(await tools.exec_command(" + mustJSON(object{"cmd": command}) + "));\n"}
	}
	s := t.find("^([Bb]ash|run_shell_command|shell|shell_command|exec_command)$", "cmd|command")
	if s == nil {
		return nil
	}
	var value any = command
	if s.takes[s.parameter("cmd", "command")] == "array" {
		value = []string{"sh", "-c", command}
	}
	return &call{tool: s.name, args: s.fill(map[string]any{"cmd|command": value})}
}

// code returns the tool that runs JavaScript, nil without one.
func (t turn) code() *tool {
	if i := slices.IndexFunc(t.tools, func(o tool) bool { return o.code }); i >= 0 {
		return &t.tools[i]
	}
	return nil
}

// find returns the first tool whose name matches, and that takes something whose name has one of the words.
func (t turn) find(name, words string) *tool {
	re := regexp.MustCompile(name)
	for i, o := range t.tools {
		if re.MatchString(o.name) && (words == "" || o.parameter(strings.Split(words, "|")...) != "") {
			return &t.tools[i]
		}
	}
	return nil
}

// parameter returns the name of what the tool takes that has one of the words in it; the first word counts most.
func (o tool) parameter(words ...string) string {
	for _, w := range words {
		var found []string
		for name := range o.takes {
			if strings.Contains(strings.ToLower(name), w) {
				found = append(found, name)
			}
		}
		if len(found) > 0 {
			return slices.Min(found)
		}
	}
	return ""
}

// fill makes the arguments of a call: each key is the words for a parameter. What programs want besides is a sentence that is
// shown to the user.
func (o tool) fill(values map[string]any) map[string]any {
	args := map[string]any{}
	for words, v := range values {
		if name := o.parameter(strings.Split(words, "|")...); name != "" {
			args[name] = v
		}
	}
	for _, name := range []string{"description", "instruction"} {
		if o.takes[name] == "string" {
			args[name] = "A step of the task"
		}
	}
	return args
}
