package cluster

import (
	"context"
	"fmt"
	"time"
)

const (
	publishTime = time.Second
	listenPause = 200 * time.Millisecond // delay before a broken subscription is retried
)

// Publish sends a message to all listening replicas, including this one.
func (l *Client) Publish(ctx context.Context, message string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTime)
	defer cancel()
	if err := l.client.Publish(ctx, l.Key("messages"), message).Err(); err != nil {
		return fmt.Errorf("publish message: %w", err)
	}
	return nil
}

// Listen calls onMessage for every message until ctx is cancelled. After each reconnect it calls onMessage with an empty message,
// because messages may have been missed.
func (l *Client) Listen(ctx context.Context, onMessage func(message string)) {
	for ctx.Err() == nil {
		l.subscribe(ctx, onMessage)
		select {
		case <-ctx.Done():
		case <-time.After(listenPause):
		}
	}
}

// subscribe receives messages until the connection fails.
func (l *Client) subscribe(ctx context.Context, onMessage func(string)) {
	subscription := l.client.Subscribe(ctx, l.Key("messages"))
	defer func() { _ = subscription.Close() }() // the connection is discarded
	stop := context.AfterFunc(ctx, func() { _ = subscription.Close() })
	defer stop()
	opening, cancel := context.WithTimeout(ctx, publishTime)
	defer cancel()
	if _, err := subscription.Receive(opening); err != nil {
		return
	}
	onMessage("")
	for ctx.Err() == nil {
		message, err := subscription.ReceiveMessage(ctx)
		if err != nil {
			return
		}
		onMessage(message.Payload)
	}
}
