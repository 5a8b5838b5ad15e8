// A round by go-redis, rueidis or redigo: play CLIENT PORT CA|- SCENARIO.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

type words []interface{}

// A client's own way to send a command, a pipeline and a transaction. Transactions return nil if EXEC answered nil.
type client interface {
	ask(one words) (interface{}, error)
	pipe(many []words) (interface{}, error)
	unit(many []words) ([]interface{}, error)
}

var background = context.Background()

func secure(ca string) *tls.Config {
	if ca == "-" {
		return nil
	}
	text, err := os.ReadFile(ca)
	must(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	// Checks the chain of the certificate, but not its name.
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(state tls.ConnectionState) error {
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots})
		return err
	}}
}

func must(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

type goRedis struct{ server *goredis.Client }

func (c goRedis) ask(one words) (interface{}, error) { return c.server.Do(background, one...).Result() }
func (c goRedis) pipe(many []words) (interface{}, error) {
	pipe := c.server.Pipeline()
	var last *goredis.Cmd
	for _, one := range many {
		last = pipe.Do(background, one...)
	}
	_, err := pipe.Exec(background)
	return last.Val(), err
}
func (c goRedis) unit(many []words) ([]interface{}, error) {
	pipe := c.server.TxPipeline()
	var answers []interface{}
	var asked []*goredis.Cmd
	for _, one := range many {
		asked = append(asked, pipe.Do(background, one...))
	}
	_, err := pipe.Exec(background)
	if err == goredis.TxFailedErr {
		return nil, nil
	}
	for _, one := range asked {
		answers = append(answers, one.Val())
	}
	return answers, err
}

type ruClient struct{ server rueidis.Client }

func (c ruClient) command(one words) rueidis.Completed {
	build := c.server.B().Arbitrary(fmt.Sprint(one[0]))
	for _, word := range one[1:] {
		build = build.Args(fmt.Sprint(word))
	}
	return build.Build()
}
func (c ruClient) many(list []words) []rueidis.RedisResult {
	var commands []rueidis.Completed
	for _, one := range list {
		commands = append(commands, c.command(one))
	}
	return c.server.DoMulti(background, commands...)
}
func (c ruClient) ask(one words) (interface{}, error) { return c.server.Do(background, c.command(one)).ToAny() }
func (c ruClient) pipe(list []words) (interface{}, error) {
	answers := c.many(list)
	return answers[len(answers)-1].ToAny()
}
func (c ruClient) unit(list []words) ([]interface{}, error) {
	answers := c.many(append(append([]words{{"MULTI"}}, list...), words{"EXEC"}))
	last := answers[len(answers)-1]
	if rueidis.IsRedisNil(last.Error()) {
		return nil, nil
	}
	any, err := last.ToAny()
	if err != nil {
		return nil, err
	}
	return any.([]interface{}), nil
}

type goDigo struct{ pool *redis.Pool }

func (c goDigo) ask(one words) (interface{}, error) {
	connection := c.pool.Get()
	defer connection.Close()
	return connection.Do(fmt.Sprint(one[0]), one[1:]...)
}
func (c goDigo) pipe(list []words) (last interface{}, err error) {
	connection := c.pool.Get()
	defer connection.Close()
	for _, one := range list {
		connection.Send(fmt.Sprint(one[0]), one[1:]...)
	}
	if err = connection.Flush(); err != nil {
		return nil, err
	}
	for range list {
		if last, err = connection.Receive(); err != nil {
			return nil, err
		}
	}
	return last, nil
}
func (c goDigo) unit(list []words) ([]interface{}, error) {
	connection := c.pool.Get()
	defer connection.Close()
	connection.Send("MULTI")
	for _, one := range list {
		connection.Send(fmt.Sprint(one[0]), one[1:]...)
	}
	answers, err := redis.Values(connection.Do("EXEC"))
	if err == redis.ErrNil {
		return nil, nil
	}
	return answers, err
}

func connect(name, address, ca string) client {
	const user, password = "web", "Open-Sesame-7"
	switch name {
	case "go-redis":
		return goRedis{goredis.NewClient(&goredis.Options{Addr: address, Username: user, Password: password, TLSConfig: secure(ca)})}
	case "rueidis":
		server, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, Username: user,
			Password: password, TLSConfig: secure(ca), DisableCache: true})
		must(err)
		return ruClient{server}
	}
	return goDigo{&redis.Pool{MaxIdle: 8, Dial: func() (redis.Conn, error) {
		return redis.Dial("tcp", address, redis.DialUsername(user), redis.DialPassword(password),
			redis.DialUseTLS(ca != "-"), redis.DialTLSConfig(secure(ca)))
	}}}
}

func show(value interface{}) interface{} {
	if text, is := value.([]byte); is {
		return string(text)
	}
	return value
}

func sale(server client, token string) (interface{}, error) {
	answers, err := server.unit([]words{{"ROW.ONCE", token}, {"ROW.REQUIRE", "shop.product:7", "stock", ">=", 1},
		{"HINCRBY", "shop.product:7", "stock", -1}})
	if err != nil || answers == nil {
		return "null", err
	}
	return answers[2], nil
}

func round(server client) {
	row, err := server.ask(words{"HMGET", "shop.product:7", "name", "price"})
	must(err)
	cells := row.([]interface{})
	fmt.Println("row", show(cells[0]), show(cells[1]))
	var many []words
	for i := 0; i < 100; i++ {
		many = append(many, words{"INCR", "piped"})
	}
	last, err := server.pipe(many)
	must(err)
	fmt.Println("pipeline", last)
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := 0; i < 25; i++ {
				_, err := server.ask(words{"INCR", "pooled"})
				must(err)
			}
		}()
	}
	group.Wait()
	pooled, err := server.ask(words{"GET", "pooled"})
	must(err)
	fmt.Println("pool", show(pooled))
	fmt.Print("transaction")
	for _, token := range []string{"t0", "t1", "t2"} {
		left, err := sale(server, token)
		must(err)
		fmt.Print(" ", left)
	}
	fmt.Println()
}

func main() {
	server := connect(os.Args[1], "127.0.0.1:"+os.Args[2], os.Args[3])
	switch os.Args[4] {
	case "round":
		round(server)
	case "count":
		views, err := server.ask(words{"HINCRBY", "shop.page:1", "views", 1})
		must(err)
		fmt.Println(views)
	default:
		for i := 0; i < 50; i++ {
			if left, err := sale(server, "once"); err == nil {
				fmt.Println(left)
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
}
