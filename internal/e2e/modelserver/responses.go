package modelserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// responses serves POST /v1/responses (https://platform.openai.com/docs/api-reference/responses).
func (s *Server) responses(w http.ResponseWriter, body []byte) string {
	var req struct {
		Model        string
		Stream       bool
		Instructions string
		Input        json.RawMessage
		Tools        []responsesTool
		Text         struct {
			Format struct{ Schema json.RawMessage }
		}
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return refuse(w, err)
	}
	t := turn{protocol: "responses", model: req.Model, stream: req.Stream, schema: req.Text.Format.Schema, history: []message{{role: "system", text: req.Instructions}}}
	input, tools, err := responsesInput(req.Input)
	if err != nil {
		return refuse(w, err)
	}
	t.history = append(t.history, input...)
	t.tools = responsesTools(append(tools, req.Tools...))
	r, step := t.answer()

	var items []object
	if r.text != "" {
		items = append(items, object{"type": "message", "id": newID("msg_"), "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": r.text, "annotations": []object{}}}})
	}
	if c := r.call; c != nil {
		item := object{"type": "function_call", "id": newID("fc_"), "call_id": newID("call_"), "name": c.tool, "status": "completed"}
		if c.args == nil {
			item["type"], item["input"] = "custom_tool_call", c.text
		} else {
			item["arguments"] = mustJSON(c.args)
		}
		items = append(items, item)
	}
	made := object{"id": newID("resp_"), "object": "response", "created_at": time.Now().Unix(), "model": req.Model, "status": "completed",
		"output": items, "error": nil, "incomplete_details": nil, "parallel_tool_calls": false, "tool_choice": "auto", "tools": []object{},
		"usage": object{"input_tokens": tokens(body), "output_tokens": 1 + len(r.text)/4, "total_tokens": tokens(body) + 1 + len(r.text)/4,
			"input_tokens_details": object{"cached_tokens": 0}, "output_tokens_details": object{"reasoning_tokens": 0}}}
	if !req.Stream {
		writeJSON(w, made)
		return step
	}
	s.responsesStream(w, made, items)
	return step
}

// A responsesTool is a tool, or a namespace of some.
type responsesTool struct {
	Type, Name, Description string
	Parameters              json.RawMessage
	Tools                   []responsesTool
}

func responsesTools(offered []responsesTool) []tool {
	var tools []tool
	for _, o := range offered {
		if o.Type == "namespace" {
			tools = append(tools, responsesTools(o.Tools)...)
			continue
		}
		code := o.Type == "custom" && strings.Contains(o.Description, "tools.exec_command(")
		tools = append(tools, tool{name: o.Name, custom: o.Type == "custom", code: code, takes: parameters(o.Parameters)})
	}
	return tools
}

// responsesInput reads the conversation: a text, or a list of messages, calls, their results, and more tools.
func responsesInput(raw json.RawMessage) ([]message, []responsesTool, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []message{{role: "user", text: text}}, nil, nil
	}
	var items []struct {
		Type, Role string
		Content    content
		Tools      []responsesTool
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, nil, err
	}
	var history []message
	var tools []responsesTool
	for _, i := range items {
		switch {
		case i.Type == "additional_tools":
			tools = append(tools, i.Tools...)
		case strings.HasSuffix(i.Type, "_call_output"):
			history = append(history, message{role: "tool", results: 1})
		case i.Role != "":
			history = append(history, message{role: i.Role, text: i.Content.text()})
		}
	}
	return history, tools, nil
}

func (s *Server) responsesStream(w http.ResponseWriter, made object, items []object) {
	e := s.events(w)
	n := 0
	send := func(name string, fields object) {
		fields["type"], fields["sequence_number"] = name, n
		n++
		e.send(name, fields)
	}
	started := object{}
	for k, v := range made {
		started[k] = v
	}
	started["status"], started["output"], started["usage"] = "in_progress", []object{}, nil
	send("response.created", object{"response": started})
	for i, item := range items {
		opened := object{}
		for k, v := range item {
			opened[k] = v
		}
		opened["status"] = "in_progress"
		id := item["id"]
		switch item["type"] {
		case "message":
			text := item["content"].([]object)[0]
			opened["content"] = []object{}
			send("response.output_item.added", object{"output_index": i, "item": opened})
			send("response.content_part.added", object{"output_index": i, "item_id": id, "content_index": 0, "part": object{"type": "output_text", "text": "", "annotations": []object{}}})
			e.words(text["text"].(string), func(piece string) {
				send("response.output_text.delta", object{"output_index": i, "item_id": id, "content_index": 0, "delta": piece})
			})
			send("response.output_text.done", object{"output_index": i, "item_id": id, "content_index": 0, "text": text["text"]})
			send("response.content_part.done", object{"output_index": i, "item_id": id, "content_index": 0, "part": text})
		default:
			kind, field := "response.function_call_arguments", "arguments"
			if item["type"] == "custom_tool_call" {
				kind, field = "response.custom_tool_call_input", "input"
			}
			opened[field] = ""
			send("response.output_item.added", object{"output_index": i, "item": opened})
			e.words(item[field].(string), func(piece string) {
				send(kind+".delta", object{"output_index": i, "item_id": id, "delta": piece})
			})
			send(kind+".done", object{"output_index": i, "item_id": id, field: item[field]})
		}
		send("response.output_item.done", object{"output_index": i, "item": item})
	}
	send("response.completed", object{"response": made})
}
