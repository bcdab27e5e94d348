package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/servegate/servegate/runner/openai"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"text\":\"Hello\"}]}\n\n")
		fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()

	client, err := openai.New(openai.Options{BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := context.Background()
	if err := client.Open(ctx, 1, 0); err != nil {
		fmt.Println(err)
		return
	}
	request, err := client.Prepare(openai.Call{Params: openai.Params{Model: "m", IDs: []int{7, 8, 9}, MaxTokens: 1, Stream: true}})
	if err != nil {
		fmt.Println(err)
		return
	}
	record := request.Send(ctx) // when it is due
	fmt.Println(record.Outcome, record.Input, record.Output, len(record.Arrivals))
	fmt.Println(record.Sent < record.First(), record.First() <= record.Done)
	// Output:
	// ok 3 1 1
	// true true
}
