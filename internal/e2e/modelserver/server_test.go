package modelserver

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
)

const prompt = "replace hello by goodbye in greeting.txt, then run [ls -l], then explain in 120 words"

// A client keeps a conversation in one of the protocols.
type client struct {
	name string
	path string
	body func(stream bool, history []any) any // of a request with the tools that an agent offers
	user func(text string) any
	// said reads an answer: what was said, the calls as JSON, and what to add to the history, with results for the calls.
	said func(t *testing.T, events []map[string]any) (text string, calls []string, history []any)
	// joined makes of the one answer without streaming what said reads.
	joined func(answer map[string]any) []map[string]any
}

func at(v any, path ...any) any {
	for _, p := range path {
		switch p := p.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[p]
		case int:
			l, _ := v.([]any)
			if p >= len(l) {
				return nil
			}
			v = l[p]
		}
	}
	return v
}

func str(v any, path ...any) string {
	s, _ := at(v, path...).(string)
	return s
}

func schema(names ...string) object {
	p := object{}
	for _, n := range names {
		p[n] = object{"type": "string"}
	}
	return object{"type": "object", "properties": p}
}

var clients = []client{
	{
		name: "messages", path: "/v1/messages?beta=true",
		body: func(stream bool, history []any) any {
			return object{"model": "m", "stream": stream, "system": []object{{"type": "text", "text": "be short"}}, "messages": history, "tools": []object{
				{"name": "Read", "input_schema": schema("file_path")},
				{"name": "Edit", "input_schema": schema("file_path", "old_string", "new_string")},
				{"name": "Bash", "input_schema": schema("command", "description")}}}
		},
		user: func(text string) any { return object{"role": "user", "content": text} },
		said: func(t *testing.T, events []map[string]any) (text string, calls []string, history []any) {
			results, input := []object{}, ""
			for _, e := range events {
				switch str(e, "type") {
				case "content_block_start":
					if id := str(e, "content_block", "id"); id != "" {
						results, input = append(results, object{"type": "tool_result", "tool_use_id": id, "content": "ok"}), str(e, "content_block", "name")+" "
					}
				case "content_block_delta":
					text += str(e, "delta", "text")
					input += str(e, "delta", "partial_json")
				case "content_block_stop":
					if input != "" {
						calls, input = append(calls, input), ""
					}
				}
			}
			return text, calls, []any{object{"role": "assistant", "content": text}, object{"role": "user", "content": results}}
		},
		joined: func(a map[string]any) []map[string]any {
			var events []map[string]any
			for _, b := range at(a, "content").([]any) {
				b := b.(map[string]any)
				delta := object{"text": b["text"]}
				if in, ok := b["input"]; ok {
					delta = object{"partial_json": mustJSON(in)}
				}
				events = append(events, object{"type": "content_block_start", "content_block": b},
					object{"type": "content_block_delta", "delta": delta}, object{"type": "content_block_stop"})
			}
			return events
		},
	},
	{
		name: "responses", path: "/v1/responses",
		body: func(stream bool, history []any) any {
			return object{"model": "m", "stream": stream, "instructions": "be short", "input": history, "tools": []object{
				{"type": "custom", "name": "apply_patch"},
				{"type": "function", "name": "exec_command", "parameters": schema("cmd")}, {"type": "web_search"}}}
		},
		user: func(text string) any {
			return object{"type": "message", "role": "user", "content": []object{{"type": "input_text", "text": text}}}
		},
		said: func(t *testing.T, events []map[string]any) (text string, calls []string, history []any) {
			deltas := ""
			for _, e := range events {
				if str(e, "type") == "response.output_text.delta" {
					deltas += str(e, "delta")
				}
				if str(e, "type") != "response.output_item.done" {
					continue
				}
				item := at(e, "item")
				text += str(item, "content", 0, "text")
				if id := str(item, "call_id"); id != "" {
					calls = append(calls, str(item, "name")+" "+str(item, "arguments")+str(item, "input"))
					history = append(history, item, object{"type": str(item, "type") + "_output", "call_id": id, "output": "ok"})
				}
			}
			if len(events) > 3 && deltas != text {
				t.Errorf("the pieces are %q, the whole %q", deltas, text)
			}
			return text, calls, history
		},
		joined: func(a map[string]any) []map[string]any {
			var events []map[string]any
			for _, item := range at(a, "output").([]any) {
				events = append(events, object{"type": "response.output_item.done", "item": item})
			}
			return events
		},
	},
	{
		name: "chat", path: "/v1/chat/completions",
		body: func(stream bool, history []any) any {
			return object{"model": "m", "stream": stream, "stream_options": object{"include_usage": true}, "messages": history, "tools": []object{
				{"type": "function", "function": object{"name": "bash", "parameters": schema("command")}}}}
		},
		user: func(text string) any { return object{"role": "user", "content": text} },
		said: func(t *testing.T, events []map[string]any) (text string, calls []string, history []any) {
			for _, e := range events {
				text += str(e, "choices", 0, "delta", "content")
				if f := at(e, "choices", 0, "delta", "tool_calls", 0, "function"); f != nil {
					calls = append(calls, str(f, "name")+" "+str(f, "arguments"))
					history = append(history, object{"role": "tool", "tool_call_id": at(e, "choices", 0, "delta", "tool_calls", 0, "id"), "content": "ok"})
				}
			}
			return text, calls, append([]any{object{"role": "assistant", "content": text}}, history...)
		},
		joined: func(a map[string]any) []map[string]any {
			return []map[string]any{{"choices": []any{map[string]any{"delta": at(a, "choices", 0, "message")}}}}
		},
	},
	{
		name: "gemini", path: "/v1beta/models/m:generateContent",
		body: func(stream bool, history []any) any {
			return object{"contents": history, "systemInstruction": object{"parts": []object{{"text": "be short"}}}, "tools": []object{{"functionDeclarations": []object{
				{"name": "replace", "parametersJsonSchema": schema("file_path", "old_string", "new_string", "instruction")},
				{"name": "run_shell_command", "parameters": schema("command")}}}}}
		},
		user: func(text string) any { return object{"role": "user", "parts": []object{{"text": text}}} },
		said: func(t *testing.T, events []map[string]any) (text string, calls []string, history []any) {
			for _, e := range events {
				parts, _ := at(e, "candidates", 0, "content", "parts").([]any)
				for _, p := range parts {
					text += str(p, "text")
					if f := at(p, "functionCall"); f != nil {
						calls = append(calls, str(f, "name")+" "+mustJSON(at(f, "args")))
						history = append(history, object{"role": "user", "parts": []object{{"functionResponse": object{"name": str(f, "name"), "response": object{}}}}})
					}
				}
			}
			return text, calls, append([]any{object{"role": "model", "parts": []object{{"text": text}}}}, history...)
		},
		joined: func(a map[string]any) []map[string]any { return []map[string]any{a} },
	},
}

// wantCalls is what the task is with the tools of each client.
var wantCalls = map[string][]string{
	"messages": {
		`Read {"file_path":"greeting.txt"}`,
		`Edit {"file_path":"greeting.txt","new_string":"goodbye","old_string":"hello"}`,
		`Bash {"command":"ls -l","description":"A step of the task"}`},
	"responses": {
		"apply_patch *** Begin Patch\n*** Update File: greeting.txt\n@@\n-hello\n+goodbye\n*** End Patch\n",
		`exec_command {"cmd":"ls -l"}`},
	"chat": {
		`bash {"command":"sed -i 's/^hello$/goodbye/' greeting.txt"}`,
		`bash {"command":"ls -l"}`},
	"gemini": {
		`replace {"file_path":"greeting.txt","instruction":"A step of the task","new_string":"goodbye","old_string":"hello"}`,
		`run_shell_command {"command":"ls -l"}`},
}

// ask sends a request, and returns the events of the answer.
func (c client) ask(t *testing.T, url string, stream bool, history []any) []map[string]any {
	t.Helper()
	path := c.path
	if stream {
		path = strings.Replace(path, ":generate", ":streamGenerate", 1)
	}
	resp, err := http.Post(url+path, "application/json", strings.NewReader(mustJSON(c.body(stream, history))))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	if !stream {
		var answer map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return c.joined(answer)
	}
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("a stream of type %q", got)
	}
	var events []map[string]any
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

// TestConversation has each protocol do a task from the prompt to the long answer, at once and streamed.
func TestConversation(t *testing.T) {
	var steps []string
	server := httptest.NewServer(&Server{Log: func(e Event) { steps = append(steps, e.Step) }})
	defer server.Close()
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			name := c.name
			if stream {
				name += " streamed"
			}
			t.Run(name, func(t *testing.T) {
				steps = nil
				history, all := []any{c.user("<hint>in a tag of the agent's</hint> " + prompt)}, []string(nil)
				last := ""
				for range 6 {
					text, calls, more := c.said(t, c.ask(t, server.URL, stream, history))
					all, last, history = append(all, calls...), text, append(history, more...)
					if len(calls) == 0 {
						break
					}
				}
				if !reflect.DeepEqual(all, wantCalls[c.name]) {
					t.Errorf("calls %q, want %q", all, wantCalls[c.name])
				}
				if n := len(strings.Fields(last)); n < 120 || !strings.HasSuffix(last, "The explanation is complete.\n") {
					t.Errorf("%d words: %q", n, last)
				}
				if got := steps[len(steps)-2:]; !reflect.DeepEqual(got, []string{"shell", "explain"}) {
					t.Errorf("the last steps are %q", got)
				}
				// A second prompt begins a second task.
				if _, calls, _ := c.said(t, c.ask(t, server.URL, stream, append(history, c.user(prompt)))); len(calls) != 1 || calls[0] != all[0] {
					t.Errorf("a second prompt gets %q", calls)
				}
			})
		}
	}
}

// TestCode has the edit and the command done by a tool that takes JavaScript, and comes in a namespace beside the conversation.
func TestCode(t *testing.T) {
	body := object{"input": []object{
		{"type": "additional_tools", "tools": []object{{"type": "namespace", "name": "functions", "tools": []object{
			{"type": "custom", "name": "exec", "description": "Run JavaScript: await tools.exec_command(...)"}}}}},
		{"type": "message", "role": "user", "content": prompt},
		{"type": "custom_tool_call_output", "call_id": "c", "output": []object{{"type": "input_text", "text": "ok"}}}}}
	got := post(t, "/v1/responses", body, http.StatusOK)
	if want := `text(await tools.exec_command({\"cmd\":\"ls -l\"}));`; !strings.Contains(got, want) {
		t.Errorf("%s lacks %s", got, want)
	}
}

// TestWithoutTools has the edit in the text where the program asks for that, and a command end the conversation where it has to.
func TestWithoutTools(t *testing.T) {
	ask := object{"role": "user", "content": prompt}
	edits := object{"role": "system", "content": "write <<<<<<< SEARCH"}
	if got := post(t, "/v1/chat/completions", object{"messages": []object{edits, ask, {"role": "system", "content": "be careful"}}}, 200); !strings.Contains(got, `\u003c SEARCH\nhello\n=======\ngoodbye\n`) {
		t.Error(got)
	}
	if got := post(t, "/v1/chat/completions", object{"messages": []object{{"role": "system", "content": "name the commit"}, ask}}, 200); strings.Contains(got, "SEARCH") {
		t.Error(got)
	}
	done := []object{{"role": "user", "content": "echo " + sentinel + " at the end. " + prompt}, {"role": "tool"}, {"role": "tool"}}
	tools := []object{{"type": "function", "function": object{"name": "bash", "parameters": schema("command")}}}
	if got := post(t, "/v1/chat/completions", object{"messages": done, "tools": tools}, 200); !strings.Contains(got, `{\"command\":\"echo `+sentinel) {
		t.Error(got)
	}
}

// TestBeside has what programs ask for beside the conversation, and what is no request at all, answered.
func TestBeside(t *testing.T) {
	title := object{"messages": []object{{"role": "user", "content": prompt}}, "output_config": object{"format": object{"schema": object{
		"type": "object", "properties": object{"title": object{"type": "string"}, "next": object{"enum": []string{"user", "model"}}}, "required": []string{"title", "next"}}}}}
	for _, test := range []struct {
		path string
		body any
		code int
		want string
	}{
		{"/v1/messages/count_tokens", object{"messages": []any{}}, 200, `"input_tokens":`},
		{"/v1beta/models/m:countTokens", object{}, 200, `"totalTokens":`},
		{"/v1/messages", title, 200, `{\"next\":\"user\",\"title\":\"Greetings\"}`},
		{"/v1/messages", object{"messages": []object{{"role": "user", "content": "quota"}}}, 200, "stand-in"},
		{"/v1/responses", object{"input": "hi"}, 200, "stand-in"},
		{"/v1/responses", object{"input": 5}, 400, "error"},
		{"/v1/chat/completions", []int{1}, 400, "error"},
		{"/v1/messages", "x", 400, "error"},
		{"/v1beta/models/m:generateContent", 3, 400, "error"},
		{"/api/event_logging/batch", object{"events": 1}, 200, "{}"},
	} {
		if got := post(t, test.path, test.body, test.code); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s lacks %s", test.path, got, test.want)
		}
	}
	for path, code := range map[string]int{"/v1/models?client_version=1": 200, "/": 200, "/v1/files/x": 404} {
		w := httptest.NewRecorder()
		(&Server{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if w.Code != code || !json.Valid(w.Body.Bytes()) {
			t.Errorf("GET %s: %d %s", path, w.Code, w.Body)
		}
	}
}

func post(t *testing.T, path string, body any, code int) string {
	t.Helper()
	w := httptest.NewRecorder()
	(&Server{}).ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(mustJSON(body))))
	if w.Code != code {
		t.Errorf("%s: %d, want %d", path, w.Code, code)
	}
	return w.Body.String()
}

// FuzzRequest sends what is no request of any program's.
func FuzzRequest(f *testing.F) {
	for _, c := range clients {
		f.Add(c.path, mustJSON(c.body(true, []any{c.user(prompt)})))
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(strings.NewReader(body)))
		r.URL.Path = path
		(&Server{}).ServeHTTP(httptest.NewRecorder(), r)
	})
}
