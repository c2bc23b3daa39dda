package cluster

import (
	"context"
	"fmt"
	"time"
)

const (
	publishTime = time.Second
	listenPause = 200 * time.Millisecond // before a broken subscription is tried again
)

// Publish sends a message to every replica that listens, this one included.
func (l *Client) Publish(ctx context.Context, message string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	if err := l.client.Publish(ctx, l.Key("messages"), message).Err(); err != nil {
		return fmt.Errorf("tell the other replicas: %w", err)
	}
	return nil
}

// Listen passes on every message until ctx ends. After each time that it was cut off it calls hear with an empty one,
// because messages may have been missed.
func (l *Client) Listen(ctx context.Context, hear func(message string)) {
	for ctx.Err() == nil {
		l.subscribe(ctx, hear)
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// subscribe listens until the connection breaks.
func (l *Client) subscribe(ctx context.Context, hear func(string)) {
	subscription := l.client.Subscribe(ctx, l.Key("messages"))
	defer func() { _ = subscription.Close() }() // it is over either way
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	opening, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	if _, err := subscription.Receive(opening); err != nil {
		return
	}
	hear("")
	for ctx.Err() == nil {
		message, err := subscription.ReceiveMessage(ctx)
		if err != nil {
			return
		}
		hear(message.Payload)
	}
}
